// Draws the charts of a page from the tables below them, with uPlot. Without it the tables are still there.

/* global uPlot */

const UNITS = {
  count: { axis: (value) => compact(value), value: (value) => value.toLocaleString('en') },
  usd: { axis: (value) => `$${compact(value)}`, value: (value) => `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: value < 1 ? 3 : 2 })}` },
  milliseconds: { axis: duration, value: duration },
};

function compact(value) {
  return Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

function duration(value) {
  if (value < 1000) return `${Math.round(value)}ms`;
  const seconds = Math.round(value / 1000);
  return seconds < 60 ? `${seconds}s` : seconds < 3600 ? `${Math.floor(seconds / 60)}m${seconds % 60 ? ` ${String(seconds % 60).padStart(2, '0')}s` : ''}` : `${(seconds / 3600).toFixed(1)}h`;
}

// Days as the tables write them: `22 Nov`.
const day = (seconds) => new Date(seconds * 1000).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** The columns of the table that belongs to a chart, the oldest day first. */
function columns(figure, wanted) {
  const rows = [...figure.parentElement.querySelectorAll('tbody tr')];
  const value = (row, column) => {
    const text = row.children[column]?.dataset.value;
    return text === undefined ? null : Number(text);
  };
  rows.sort((one, other) => value(one, 0) - value(other, 0));
  return [0, ...wanted].map((column) => rows.map((row) => value(row, column)));
}

/** Each series with all before it added, so that bars stand on each other. */
function stacked([days, ...series]) {
  const sums = days.map(() => 0);
  return [days, ...series.map((values) => values.map((value, index) => (sums[index] += value ?? 0)))];
}

function draw(figure) {
  const plot = figure.querySelector('.plot');
  const wanted = figure.dataset.series.split(',').map((series) => series.split(':'));
  const unit = UNITS[figure.dataset.unit];
  const raw = columns(figure, wanted.map(([column]) => Number(column)));
  const outputs = [...figure.querySelectorAll('output')];
  const style = getComputedStyle(figure);
  const colour = (name) => style.getPropertyValue(`--k-${name}`).trim() || style.getPropertyValue('--accent').trim();
  const isStacked = figure.dataset.kind === 'stacked';
  const data = isStacked ? stacked(raw) : raw;
  const bars = uPlot.paths.bars({ size: [0.72, 34], radius: 0.12, align: 0 });
  const lines = wanted.map(([, name], index) => ({
    stroke: isStacked ? undefined : colour(name),
    fill: isStacked ? colour(name) : undefined,
    width: isStacked ? 0 : 2,
    spanGaps: true,
    points: { show: !isStacked && raw[0].length < 40, size: 5, fill: colour(name) },
    paths: isStacked ? bars : undefined,
    index,
  }));
  // What is drawn first lies below: the highest of a stack.
  const order = isStacked ? [...lines].reverse() : lines;
  const font = `12px ${style.fontFamily}`;
  const axis = { stroke: style.getPropertyValue('--faint').trim(), font, ticks: { show: false } };
  const half = 43_200;
  const chart = new uPlot(
    {
      width: plot.clientWidth,
      height: plot.clientHeight,
      legend: { show: false },
      cursor: { points: { show: !isStacked }, y: false, drag: { setScale: false } },
      scales: {
        x: { time: false, range: (_, least, most) => [least - half, most + half] },
        y: { range: (_, least, most) => [0, most > 0 ? most * 1.06 : 1] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 26, space: 64, values: (_, splits) => splits.map(day), splits: (self) => dayTicks(self, raw[0]) },
        { ...axis, grid: { stroke: style.getPropertyValue('--line').trim(), width: 1 }, size: 52, values: (_, splits) => splits.map(unit.axis), incrs: figure.dataset.unit === 'count' ? whole : undefined },
      ],
      series: [{}, ...order],
      hooks: {
        setCursor: [
          (self) => {
            const at = self.cursor.idx;
            const pointed = at !== null && at !== undefined;
            outputs.forEach((output, index) => {
              const values = raw[index + 1];
              // Where nothing is pointed at: bars add up, lines have a latest value.
              const value = pointed ? values[at] : isStacked ? values.reduce((sum, one) => sum + (one ?? 0), 0) : values.findLast((one) => one !== null);
              output.value = value === null || value === undefined ? '' : unit.value(value);
            });
            figure.querySelector('.at').textContent = pointed ? day(raw[0][at]) : isStacked ? 'In all' : 'Latest';
          },
        ],
      },
    },
    [data[0], ...order.map(({ index }) => data[index + 1])],
    plot,
  );
  return chart;
}

const whole = [1, 2, 5].flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10].map((unit) => step * unit)).sort((a, b) => a - b);

/** As many days as there is room for, always whole ones. */
function dayTicks(self, days) {
  if (!days.length) return [];
  const room = Math.max(2, Math.floor(self.bbox.width / devicePixelRatio / 64));
  const first = days[0];
  const last = days[days.length - 1];
  const step = Math.max(1, Math.ceil((last - first) / 86_400 / (room - 1))) * 86_400;
  const ticks = [];
  for (let at = first; at <= last; at += step) ticks.push(at);
  return ticks;
}

function start() {
  for (const figure of document.querySelectorAll('figure.chart')) {
    let chart;
    const again = () => {
      chart?.destroy();
      chart = draw(figure);
    };
    again();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
    let width = figure.clientWidth;
    new ResizeObserver(() => {
      if (figure.clientWidth !== width) {
        width = figure.clientWidth;
        chart.setSize({ width: figure.querySelector('.plot').clientWidth, height: figure.querySelector('.plot').clientHeight });
      }
    }).observe(figure);
  }
}

start();
