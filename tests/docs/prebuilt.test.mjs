// scripts/lib/prebuilt.txt: pip takes a tool only at the version of scripts/versions.env, and only with one of its checksums.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const scripts = resolve(import.meta.dirname, '../../scripts');
const read = (name) => readFileSync(join(scripts, name), 'utf8');

test('every tool that is not compiled has a pinned version and a checksum for each kind of machine', () => {
  const tools = read('lib/prebuilt.txt').split('\n').filter((line) => line && !line.startsWith('#'));
  assert.ok(tools.length > 0);
  for (const line of tools) {
    const [, tool, variable, checksums] = line.match(/^astral-dev-toolchain-([a-z-]+)==\$\{([A-Z_]+)\}((?: --hash=sha256:[0-9a-f]{64})+)$/) ?? assert.fail(line);
    assert.match(read('versions.env'), new RegExp(`^${variable}=\\d+\\.\\d+\\.\\d+$`, 'm'), line);
    assert.equal(variable, `${tool.toUpperCase().replaceAll('-', '_')}_VERSION`, line);
    assert.ok(new Set(checksums.trim().split(' ')).size === 3, `${tool}: Linux on x86-64 and arm64, macOS on arm64`);
    // The variable is handed to pip, and the tool has a line of its own in the setup.
    assert.match(read('setup'), new RegExp(`${variable}="\\$${variable}"`));
    assert.match(read('setup'), new RegExp(`install_tool ${tool} "\\$${variable}"`));
  }
});
