import { randomUUID } from 'node:crypto';
import { licenseOf } from './licenses.ts';
import { packageId, type RuntimePackage } from './runtime-packages.ts';

/** A software bill of materials: CycloneDX 1.5, as far as Eligo fills it in. */
export interface BillOfMaterials {
  readonly $schema: string;
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.5';
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly timestamp: string; readonly component: BillComponent };
  readonly components: readonly BillComponent[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** One package of the bill. */
export interface BillComponent {
  readonly type: 'application' | 'library';
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: 'required' | 'optional';
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
  readonly licenses?: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
}

/** The bill of a version of Eligo that consists of these packages. */
export function billOfMaterials(packages: readonly RuntimePackage[], version: string, at: Date): BillOfMaterials {
  const eligo = { name: 'eligo', version };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: {
      timestamp: at.toISOString(),
      component: { type: 'application', 'bom-ref': packageId(eligo), ...eligo, purl: purlOf(eligo) },
    },
    components: packages.map(componentOf),
    dependencies: [
      { ref: packageId(eligo), dependsOn: packages.filter(({ own }) => own).map(packageId) },
      ...packages.map((one) => ({ ref: packageId(one), dependsOn: one.requires })),
    ],
  };
}

function componentOf(one: RuntimePackage): BillComponent {
  const [group, name] = one.name.startsWith('@') ? one.name.split('/') : [undefined, one.name];
  const license = one.own ? 'Apache-2.0' : licenseOf(one);
  return {
    type: 'library',
    'bom-ref': packageId(one),
    ...(group === undefined ? {} : { group }),
    name: name ?? one.name,
    version: one.version,
    scope: one.optional ? 'optional' : 'required',
    purl: purlOf(one),
    ...(one.integrity === undefined ? {} : { hashes: hashesOf(one.integrity) }),
    ...(license === undefined ? {} : { licenses: [licenseEntry(license)] }),
  };
}

function purlOf({ name, version }: Pick<RuntimePackage, 'name' | 'version'>): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

// npm writes the hash in base64, CycloneDX in hexadecimal digits.
function hashesOf(integrity: string): { alg: 'SHA-512'; content: string }[] {
  return integrity
    .split(' ')
    .filter((hash) => hash.startsWith('sha512-'))
    .map((hash) => ({ alg: 'SHA-512', content: Buffer.from(hash.slice('sha512-'.length), 'base64').toString('hex') }));
}

function licenseEntry(license: string): { license: { id: string } } | { expression: string } {
  return license.includes(' ') ? { expression: license } : { license: { id: license } };
}
