// What a month of the system looks like whose figures are the yardstick: the published figures, and nothing else.

export const RUNS = 131_246;
export const MERGE_REQUESTS = 48_095;
export const REPOSITORIES = 5_169;
export const BROKEN_GLASSES = 288;
/** All findings; those of the table below are the ones that stood. */
export const FINDINGS = 159_103;

/** Runs and quantiles of the cost in US dollars, by tier. The lowest quantile is chosen so that the averages come out. */
export const TIERS = {
  trivial: { runs: 24_529, cost: [[0.01, 0.06], [0.5, 0.17], [0.95, 0.39], [0.99, 0.74]] },
  lite: { runs: 27_558, cost: [[0.01, 0.25], [0.5, 0.61], [0.95, 1.15], [0.99, 1.95]] },
  full: { runs: 78_611, cost: [[0.01, 0.55], [0.5, 1.47], [0.95, 3.35], [0.99, 5.05]] },
};

/** Quantiles of the duration in milliseconds. */
export const DURATION = [[0.01, 60_000], [0.5, 219_000], [0.9, 387_000], [0.95, 449_000], [0.99, 621_000]];

/** Findings by severity, and millions of tokens, by reviewer. */
export const REVIEWERS = {
  code_quality: { findings: [6_460, 29_974, 38_464], tokens: [428, 264, 19_274, 3_506], tiers: ['trivial', 'lite', 'full'] },
  documentation: { findings: [155, 9_438, 16_839], tokens: [8_275, 216, 8_305, 616], tiers: ['lite', 'full'] },
  performance: { findings: [65, 5_032, 9_518], tokens: [157, 124, 6_138, 2_395], tiers: ['full'] },
  security: { findings: [484, 5_685, 5_816], tokens: [199, 149, 8_917, 2_603], tiers: ['full'] },
  codex: { findings: [224, 4_411, 5_019], tokens: [409, 236, 18_296, 3_618], tiers: ['full'] },
  agents_md: { findings: [18, 2_675, 4_185], tokens: [4_036, 119, 2_307, 342], tiers: ['lite', 'full'] },
  release: { findings: [19, 321, 405], tokens: [183, 5, 231, 15], tiers: ['full'] },
  coordinator: { findings: [0, 0, 0], tokens: [513, 1_057, 20_683, 5_099], tiers: ['trivial', 'lite', 'full'] },
};

export const SEVERITIES = ['critical', 'warning', 'suggestion'];

/** Models by their class, with dollars a million tokens: input, output, cache read, cache write. */
export const MODELS = {
  top: { id: 'anthropic/claude-opus-5-5', price: [5, 25, 0.5, 6.25] },
  standard: { id: 'anthropic/claude-sonnet-5', price: [3, 15, 0.3, 3.75] },
  light: { id: 'cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6', price: [0, 0, 0, 0] },
};
/** Reviewers whose prompts go to the light model; what is cached of them is the standard one's. */
export const LIGHT = new Set(['documentation', 'agents_md', 'release']);
