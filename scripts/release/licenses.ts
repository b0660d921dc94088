import { packageId, type RuntimePackage } from './runtime-packages.ts';

// Licenses that permit use and distribution, also of changed copies, if the text of the license goes with them.
const permitted = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  // Of fonts.
  'OFL-1.1',
  'PostgreSQL',
  'Unlicense',
]);

// Packages whose package.json names no license. A maintainer has read the LICENSE file of exactly this version.
const readInItsFile: Readonly<Record<string, string>> = { 'png-js@2.0.0': 'MIT' };

/** What runs and is not Eligo's own: `name@version license`, by name. */
export function licenseLines(packages: readonly RuntimePackage[]): string[] {
  return others(packages).map((one) => `${packageId(one)} ${licenseOf(one) ?? 'unknown'}`);
}

/** The packages whose license is unknown or not permitted. */
export function licenseFindings(packages: readonly RuntimePackage[]): string[] {
  return others(packages)
    .filter((one) => !isPermitted(licenseOf(one)))
    .map((one) => `${packageId(one)}: license ${licenseOf(one) ?? 'unknown'} is not permitted`);
}

/** The license of a package: its SPDX identifier or expression. */
export function licenseOf(one: RuntimePackage): string | undefined {
  return one.license ?? readInItsFile[packageId(one)];
}

function others(packages: readonly RuntimePackage[]): RuntimePackage[] {
  return packages.filter(({ own }) => !own);
}

// `A OR B` offers a choice, `A AND B` requires both. An expression with both operators is permitted only by a choice that is a single license.
function isPermitted(license: string | undefined): boolean {
  if (license === undefined) return false;
  const expression = license.replace(/^\((.*)\)$/, '$1');
  const choices = expression.split(' OR ');
  if (choices.length > 1) return choices.some((one) => permitted.has(one));
  return expression.split(' AND ').every((one) => permitted.has(one));
}
