import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { boundToAHost, type LockFile, readLock, unhashedOf } from '../checks/lock-file.ts';
import { auditFindings } from '../release/audit.ts';
import { billOfMaterials } from '../release/cyclonedx.ts';
import { licenseFindings, licenseLines } from '../release/licenses.ts';
import { packageId, type RuntimePackage, runtimePackages } from '../release/runtime-packages.ts';
import { root } from '../turbo.ts';

const lock = readLock();

it('each package of the lock file has a hash, and none is bound to a host', () => {
  expect(unhashedOf(lock)).toEqual([]);
  expect(boundToAHost(lock)).toEqual([]);
});

it('an entry without a hash is found, whatever its platform; so is an entry that names a host', () => {
  const tampered: LockFile = {
    packages: {
      'packages/values': { name: '@eligo/values', version: '0.1.0' },
      'node_modules/@eligo/values': { resolved: 'packages/values', link: true },
      'node_modules/plain': { version: '1.0.0' },
      'node_modules/elsewhere': { version: '1.0.0', optional: true, os: ['win32'], cpu: ['x64'] },
      'node_modules/bound': { version: '1.0.0', integrity: 'sha512-', resolved: 'https://registry.example/bound.tgz' },
    },
  };
  expect(unhashedOf(tampered).map(({ path }) => path)).toEqual(['node_modules/plain', 'node_modules/elsewhere']);
  expect(boundToAHost(tampered)).toEqual(['node_modules/bound']);
});

it('the bill of materials has exactly what runs: what npm installs without the development tools', () => {
  const packages = runtimePackages(lock);
  const installed = Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link)
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
  expect(packages.filter(({ own }) => !own).map(packageId)).toEqual([...new Set(installed)].toSorted());
  expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(['pg', 'nats', 'stripe', '@eligo/checkout']));
  expect(packages.map(({ name }) => name)).not.toContain('@eligo/e2e');
});

it('the bill of materials is CycloneDX: each package has a reference, a URL, a license and a hash, and requires only what is listed', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const bill = billOfMaterials(runtimePackages(lock), version, new Date('2026-01-01T00:00:00Z'));
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', metadata: { component: { version } } });
  const refs = bill.components.map((one) => one['bom-ref']);
  expect(new Set(refs).size).toBe(refs.length);
  for (const one of bill.components) {
    expect(one.purl).toBe(`pkg:npm/${one['bom-ref'].replace('@', one['bom-ref'].startsWith('@') ? '%40' : '@')}`);
    expect(one.licenses).toHaveLength(1);
    if (one.group !== '@eligo') expect(one.hashes?.[0]?.content).toMatch(/^[0-9a-f]{128}$/);
  }
  const required = bill.dependencies.flatMap(({ dependsOn }) => dependsOn);
  expect(required.filter((ref) => !refs.includes(ref))).toEqual([]);
  expect(bill.components.find(({ name }) => name === 'router')).toMatchObject({ group: '@koa', scope: 'required' });
});

it('everything that runs has a license that permits its use and distribution', () => {
  expect(licenseFindings(runtimePackages(lock))).toEqual([]);
  expect(licenseLines(runtimePackages(lock))).toContainEqual(expect.stringMatching(/^pg@\S+ MIT$/));
});

it('a license that is unknown or not permitted is a finding', () => {
  const licensed = (name: string, license?: string): RuntimePackage => ({
    ...{ name, version: '1.0.0', license, own: false, optional: false, integrity: undefined, requires: [] },
  });
  const packages = [
    licensed('free', 'MIT'),
    licensed('choice', '(GPL-2.0-only OR MIT)'),
    licensed('both', 'Apache-2.0 AND GPL-2.0-only'),
    licensed('copyleft', 'AGPL-3.0-only'),
    licensed('silent'),
    { ...licensed('own'), own: true },
  ];
  expect(licenseFindings(packages)).toEqual([
    'both@1.0.0: license Apache-2.0 AND GPL-2.0-only is not permitted',
    'copyleft@1.0.0: license AGPL-3.0-only is not permitted',
    'silent@1.0.0: license unknown is not permitted',
  ]);
});

it.each([
  [
    'does not audit',
    405,
    '',
    [expect.stringMatching(/^The packages were not audited: 405 .* Run this command with a registry that/)],
  ],
  ['knows no vulnerability', 200, '{}', []],
  [
    'knows one of a package that runs',
    200,
    JSON.stringify({
      pg: [{ id: 1, title: 'x', url: 'https://vulnerable.example', severity: 'high', vulnerable_versions: '*' }],
    }),
    expect.arrayContaining(['pg has a known vulnerability (high); npm audit tells more']),
  ],
])(
  'a release against a registry that %s is told so',
  async (_, status, body, findings) => {
    const registry = createServer((request, response) => {
      request.resume();
      // npm asks which versions there are of what is vulnerable, and of what depends on it.
      const name = decodeURIComponent((request.url ?? '').slice(1));
      const known = { name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { name, version: '1.0.0' } } };
      const answer = request.method === 'GET' ? JSON.stringify(known) : body;
      response.writeHead(status, { 'content-type': 'application/json' }).end(answer);
    });
    await once(registry.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void registry.close());
    const { port } = registry.address() as AddressInfo;
    const environment = {
      ...process.env,
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_fetch_retries: '0',
    };
    expect(await auditFindings(environment)).toEqual(findings);
  },
  60_000,
);
