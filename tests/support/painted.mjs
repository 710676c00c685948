// Waits until a page has been painted. Chromium drops keys that are pressed before that; `fill` and `click` wait by themselves.
export const painted = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
