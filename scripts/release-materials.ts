// npm run release:materials -- FOLDER: what goes with a release beside the code. Writes the software bill of materials (CycloneDX) and the list of licenses
// of everything that runs, and asks the registry for known vulnerabilities. Fails on a license that is not permitted, on a vulnerability, and if the
// registry does not say.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readLock } from './checks/lock-file.ts';
import { auditFindings } from './release/audit.ts';
import { billOfMaterials } from './release/cyclonedx.ts';
import { licenseFindings, licenseLines } from './release/licenses.ts';
import { runtimePackages } from './release/runtime-packages.ts';
import { root } from './turbo.ts';

const folder = resolve(process.argv[2] ?? join(root, 'release'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const packages = runtimePackages(readLock());
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, 'sbom.cdx.json'),
  `${JSON.stringify(billOfMaterials(packages, version, new Date()), undefined, 2)}\n`,
);
writeFileSync(join(folder, 'licenses.txt'), `${licenseLines(packages).join('\n')}\n`);
console.log(`Wrote sbom.cdx.json and licenses.txt for ${packages.length} packages to ${folder}`);

const findings = [...licenseFindings(packages), ...(await auditFindings())];
for (const finding of findings) console.error(finding);
process.exitCode = findings.length > 0 ? 1 : 0;
