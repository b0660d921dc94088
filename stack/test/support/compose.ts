import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { repositoryRoot } from '../../src/home.ts';

/** A service of the compose file, as far as the tests look. */
export interface ComposeService {
  readonly image?: string;
  readonly build?: {
    readonly context: string;
    readonly target: string;
    readonly args?: Readonly<Record<string, string>>;
  };
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly deploy?: { readonly resources: { readonly limits: Readonly<Record<string, string | number>> } };
  readonly ports?: readonly string[];
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly profiles?: readonly string[];
}

/** The compose file. */
export interface ComposeFile {
  /** Begins the names of its volumes. */
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
}

export const composeText = readFileSync(join(repositoryRoot, 'docker-compose.yml'), 'utf8');

/** The compose file with its merges carried out, its variables as they stand. */
export function readCompose(): ComposeFile {
  return parse(composeText, { merge: true }) as ComposeFile;
}

/** The variables that the file refuses to be without. */
export function requiredVariables(): string[] {
  return [...new Set([...composeText.matchAll(/\$\{([A-Z0-9_]+):\?[^}]*\}/g)].map(([, name]) => name ?? ''))].sort();
}

/** A service's environment with `${NAME}`, `${NAME:-default}` and `${NAME:?}` filled in, as compose does it. */
export function environmentOf(
  service: ComposeService,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(service.environment ?? {}).map(([name, value]) => [name, interpolate(value, variables)]),
  );
}

/** A text of the file with its variables filled in. */
export function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  return String(text).replaceAll(
    /\$\{([A-Z0-9_]+)(?::([-?])([^}]*))?\}/g,
    (_whole, name: string, how: string, rest: string) => {
      const value = variables[name];
      if (value) return value;
      if (how === '?') throw new Error(`${name} is required`);
      return rest ?? '';
    },
  );
}
