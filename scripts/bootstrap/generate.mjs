// Generates the code of proto/ when a definition, or what generates it, has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { makeOnce } from './make-once.mjs';

/** `buf generate` when it is needed, by one process at a time; what is there is replaced in one step. */
export async function generateCode(root) {
  const proto = join(root, 'proto');
  await makeOnce(
    root,
    'generate',
    () => isGenerated(root, proto),
    () => generate(root, proto),
  );
}

function isGenerated(root, proto) {
  const stamp = join(proto, 'gen', '.stamp');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(root, proto);
}

function generate(root, proto) {
  const draft = mkdtempSync(join(proto, '.gen-'));
  try {
    const bin = join(root, 'node_modules', '.bin');
    const buf = spawnSync(join(bin, 'buf'), ['generate', '-o', draft], {
      cwd: proto,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` },
    });
    if (buf.status !== 0) throw new Error(`buf generate failed: ${buf.error?.message ?? buf.stderr.trim()}`);
    writeFileSync(join(draft, 'gen', '.stamp'), fingerprint(root, proto));
    const old = join(draft, 'old');
    if (existsSync(join(proto, 'gen'))) renameSync(join(proto, 'gen'), old);
    renameSync(join(draft, 'gen'), join(proto, 'gen'));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function fingerprint(root, proto) {
  const hash = createHash('sha256');
  const files = readdirSync(join(proto, 'eligo'), { recursive: true })
    .filter((name) => name.endsWith('.proto'))
    .map((name) => join('eligo', name))
    .sort();
  for (const name of ['buf.yaml', 'buf.gen.yaml', ...files]) {
    hash.update(`${name}\n`).update(readFileSync(join(proto, name)));
  }
  for (const generator of ['@bufbuild/buf', '@bufbuild/protoc-gen-es']) {
    hash.update(JSON.parse(readFileSync(join(root, 'node_modules', generator, 'package.json'), 'utf8')).version);
  }
  return hash.digest('hex');
}
