// The one entry of every npm command: `node scripts/bootstrap.mjs start|test|check|bench|eligo|… [arguments]`. `node` installs what is missing and
// prints the Node to run the others with.
// Plain JavaScript without dependencies, because it runs before anything is installed, on any Node from 20.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../packages/processes/src/programs.mjs';
import { buildPage } from './bootstrap/build-page.mjs';
import { buildPrograms } from './bootstrap/build-programs.mjs';
import { generateCode } from './bootstrap/generate.mjs';
import { installPackages } from './bootstrap/install.mjs';
import { pinnedNode, runOnPinnedNode } from './bootstrap/run.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// Built programs; the others run from their sources.
const builtCommands = { start: 'stack', eligo: 'cli' };
const commands = {
  test: 'scripts/test.ts',
  check: 'scripts/check.ts',
  bench: 'bench/src/main.ts',
  failpoints: 'e2e/src/commands/failpoints.ts',
  chaos: 'e2e/src/commands/chaos.ts',
  outages: 'e2e/src/commands/outages.ts',
  repair: 'e2e/src/commands/repair.ts',
  attack: 'e2e/src/commands/attack.ts',
  neighbors: 'e2e/src/commands/neighbors.ts',
  rolling: 'e2e/src/commands/rolling.ts',
  restarts: 'e2e/src/commands/restarts.ts',
  growth: 'e2e/src/commands/growth.ts',
  fuzz: 'e2e/src/commands/fuzz.ts',
  'money-model': 'e2e/src/commands/money-model.ts',
  'tie-out': 'e2e/src/commands/tie-out.ts',
  'billing-model': 'e2e/src/commands/billing-model.ts',
  'seeded-bugs': 'e2e/src/commands/seeded-bugs.ts',
};

async function main() {
  const [name = '', ...args] = process.argv.slice(2);
  const names = [...Object.keys(builtCommands), ...Object.keys(commands), 'node'];
  if (!names.includes(name)) throw new Error(`Usage: node scripts/bootstrap.mjs ${names.join('|')} [arguments]`);
  if (Number(process.versions.node.split('.')[0]) < 20) {
    throw new Error(`Eligo needs Node 20 or newer for setup; this is ${process.version}.`);
  }
  if (process.env.ELIGO_BOOTSTRAPPED !== String(process.pid)) {
    await installPackages(root);
    await generateCode(root);
    await buildPage(root);
    // Checks read sources only, and the test runner builds what its tests start.
    if (!['check', 'test'].includes(name)) await buildPrograms(root);
  }
  delete process.env.ELIGO_BOOTSTRAPPED;
  if (name === 'node') return void process.stdout.write(`${pinnedNode(root) ?? process.execPath}\n`);
  const script = name in builtCommands ? programFile(root, builtCommands[name]) : join(root, commands[name]);
  if (!existsSync(script)) throw new Error(`${script} is missing from this clone.`);
  if (name === 'start') useCompiledCode();
  process.exitCode = await runOnPinnedNode(root, script, args);
}

// The stack's entry files, too, come from the cache that the stack keeps in its home. Were one of them not in it, Node would load its type stripper, which
// holds 12 MB for good. A home that is still to be made has no cache; the stack makes both.
function useCompiledCode() {
  const home = resolve(process.env.ELIGO_HOME || join(root, '.eligo'));
  if (!existsSync(home)) return;
  process.env.NODE_COMPILE_CACHE = join(home, 'cache');
  module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE);
}

main().catch((error) => {
  process.stderr.write(`eligo: ${error.message}\n`);
  process.exitCode = 1;
});
