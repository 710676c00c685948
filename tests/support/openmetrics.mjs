// A strict reader of the OpenMetrics text format: what it does not expect is an error.

import assert from 'node:assert/strict';

const suffixes = {
  counter: ['_total'],
  histogram: ['_bucket', '_count', '_sum'],
  gauge: [''],
};
const number = /^[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)$/;

/**
 * Reads an exposition.
 *
 * @returns {Map<string, {type: string, help: string, unit?: string, samples: Map<string, number>}>} Families by name;
 *   a sample's key is its name with its labels as they stand in the text.
 */
export function parse(text) {
  assert.ok(text.endsWith('# EOF\n'), 'the exposition has to end with # EOF');
  const families = new Map();
  let current;
  const lines = text.split('\n').slice(0, -2);
  for (const line of lines) {
    const meta = /^# (TYPE|UNIT|HELP) ([a-z_][a-z0-9_]*) (.+)$/.exec(line);
    if (meta) {
      const [, kind, name, value] = meta;
      if (current?.name !== name) {
        assert.equal(kind, 'TYPE', `${line}: a family begins with its type`);
        assert.ok(!families.has(name), `${name} has two families`);
        current = { name, samples: new Map() };
        families.set(name, current);
      }
      assert.ok(current.samples.size === 0, `${line} stands after samples`);
      assert.ok(!(kind.toLowerCase() in current), `${line} comes twice`);
      current[kind.toLowerCase()] = value;
      continue;
    }
    const sample = /^([a-z_][a-z0-9_]*)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$/.exec(line);
    assert.ok(sample, `not a line of OpenMetrics: ${line}`);
    const [, name, labels = '', value] = sample;
    assert.ok(current, `${line} has no family`);
    const suffix = name.slice(current.name.length);
    assert.ok(name.startsWith(current.name) && suffixes[current.type].includes(suffix), `${line} is not of ${current.name}`);
    assert.match(value, number, line);
    assert.doesNotMatch(labels, /,\}$/, line);
    const names = [...labels.matchAll(/([a-z_]+)="/g)].map(([, label]) => label);
    assert.equal(new Set(names).size, names.length, `${line} has a label twice`);
    const key = name + labels;
    assert.ok(!current.samples.has(key), `${key} comes twice`);
    current.samples.set(key, Number(value));
  }
  for (const family of families.values()) {
    check(family);
  }
  return families;
}

function check(family) {
  assert.ok(family.help, `${family.name} has no help`);
  assert.ok(!family.unit || family.name.endsWith(`_${family.unit}`), `${family.name} does not end in its unit`);
  for (const value of family.samples.values()) {
    assert.ok(value >= 0, `${family.name} has a negative value`);
  }
  if (family.type === 'histogram') {
    checkHistogram(family);
  }
}

function checkHistogram({ name, samples }) {
  const groups = new Map();
  for (const [key, value] of samples) {
    const le = /,?le="([^"]+)"/.exec(key);
    const group = key.replace(/,?le="[^"]+"/, '').replace(/^[a-z_]+?_(bucket|count|sum)(?=\{|$)/, '').replace('{}', '');
    const entry = groups.get(group) ?? { buckets: [] };
    groups.set(group, entry);
    if (key.startsWith(`${name}_bucket`)) {
      assert.ok(le, `${key} has no le`);
      assert.match(le[1], /^(\d+\.\d+|\+Inf)$/, `${key}: le is a canonical float`);
      entry.buckets.push([le[1] === '+Inf' ? Infinity : Number(le[1]), value]);
    } else {
      entry[key.startsWith(`${name}_count`) ? 'count' : 'sum'] = value;
    }
  }
  for (const [group, { buckets, count, sum }] of groups) {
    const borders = buckets.map(([border]) => border);
    assert.deepEqual(borders, [...borders].sort((a, b) => a - b), `${name}${group}: borders ascend`);
    buckets.reduce((before, [, value]) => {
      assert.ok(value >= before, `${name}${group}: buckets are cumulative`);
      return value;
    }, 0);
    assert.equal(borders.at(-1), Infinity, `${name}${group} ends with +Inf`);
    assert.equal(buckets.at(-1)[1], count, `${name}${group}: +Inf is the count`);
    assert.ok(sum !== undefined, `${name}${group} has a sum`);
  }
}
