// Contrast of text as WCAG measures it.

/** Runs in the page: texts whose contrast with what is behind them is below 4.5 to 1 (WCAG AA). */
export function findWeakText() {
  const parse = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
    return { rgb: [red, green, blue], alpha };
  };
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { rgb, alpha } = parse(getComputedStyle(at).backgroundColor);
      if (alpha === 1) {
        return rgb;
      }
    }
    return [255, 255, 255];
  };
  const weak = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (text === '' || element.closest('svg, .skip, option') || !element.checkVisibility()) {
      continue;
    }
    const [one, two] = [luminance(parse(getComputedStyle(element).color).rgb), luminance(ground(element))];
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (contrast < 4.5) {
      weak.add(`${element.tagName}.${element.className}: ${contrast.toFixed(2)}`);
    }
  }
  return [...weak];
}
