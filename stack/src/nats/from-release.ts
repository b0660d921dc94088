import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { putInPlace } from './from-debian.ts';

const version = '2.10.29';

/** SHA-256 of the vendor's archives; what does not match is not unpacked. */
const archives: Record<string, { file: string; sha256: string }> = {
  'linux-x64': {
    file: `nats-server-v${version}-linux-amd64.tar.gz`,
    sha256: 'e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da',
  },
  'linux-arm64': {
    file: `nats-server-v${version}-linux-arm64.tar.gz`,
    sha256: 'da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401',
  },
};

const downloadTimeoutMs = 120_000;

/** Fetches the vendor's release of nats-server for this platform. `baseUrl` is another address for tests. */
export async function fetchRelease(
  path: string,
  baseUrl = 'https://github.com/nats-io/nats-server/releases/download',
  known = archives[`${process.platform}-${process.arch}`],
): Promise<void> {
  if (!known) throw new Error(`no nats-server release is listed for ${process.platform}-${process.arch}`);
  const answer = await fetch(`${baseUrl}/v${version}/${known.file}`, {
    signal: AbortSignal.timeout(downloadTimeoutMs),
  });
  if (!answer.ok) throw new Error(`the vendor's release server returned ${answer.status}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== known.sha256) throw new Error(`${known.file} has an unexpected SHA-256 checksum (${sha256})`);
  const work = mkdtempSync(join(tmpdir(), 'eligo-nats-'));
  try {
    const archive = join(work, known.file);
    writeFileSync(archive, bytes);
    const tar = spawnSync('tar', ['-xzf', archive, '-C', work], { encoding: 'utf8' });
    if (tar.status !== 0) throw new Error(`tar failed: ${tar.error?.message ?? tar.stderr.trim()}`);
    putInPlace(join(work, known.file.replace('.tar.gz', ''), 'nats-server'), path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
