import { invalidRequest } from '../refusal.ts';

export interface Form {
  /** Names and values as they came, decoded. */
  readonly pairs: readonly (readonly [string, string])[];
  /** The same as a tree: `a[b]=c` is `{a: {b: 'c'}}`, and `a[]=c` `{a: {0: 'c'}}`. A name that comes twice holds an array, which nothing takes. */
  readonly values: Record<string, unknown>;
}

type Tree = Record<string, unknown>;

const maxPairs = 1_000;
const maxDepth = 7;

/** Reads a form body or a query string in Stripe's notation. */
export function parseForm(form: string): Form {
  const texts = form === '' ? [] : form.split('&', maxPairs + 1).filter((text) => text !== '');
  if (texts.length > maxPairs) throw invalidRequest(`At most ${maxPairs} parameters can be given.`);
  const values = newTree();
  const pairs = texts.map((text): [string, string] => {
    const equals = text.indexOf('=');
    const name = decode(equals < 0 ? text : text.slice(0, equals));
    const value = equals < 0 ? '' : decode(text.slice(equals + 1));
    place(values, name, value);
    return [name, value];
  });
  return { pairs, values };
}

function place(values: Tree, name: string, value: string): void {
  let tree = values;
  const segments = segmentsOf(name);
  for (let at = 0; at < segments.length - 1; at++) {
    const segment = keyIn(tree, segments[at] ?? '');
    const known = tree[segment];
    const next = isTree(known) ? known : newTree();
    if (known !== undefined && next !== known) throw invalidRequest(`Invalid parameter: ${name.slice(0, 80)}`);
    tree[segment] = next;
    tree = next;
  }
  const last = keyIn(tree, segments.at(-1) ?? '');
  const known = tree[last];
  tree[last] = known === undefined ? value : [known, value].flat();
}

/** `a[b][c]` -> a, b, c. What does not read so is one name. */
function segmentsOf(name: string): string[] {
  const open = name.indexOf('[');
  if (open <= 0 || !name.endsWith(']')) return [name];
  const segments = [name.slice(0, open), ...name.slice(open + 1, -1).split('][')];
  if (segments.length > maxDepth) throw invalidRequest(`Invalid parameter: ${name.slice(0, 80)}`);
  return segments;
}

/** An empty segment stands for the next entry of a list. */
function keyIn(tree: Tree, segment: string): string {
  return segment === '' ? String(Object.keys(tree).length) : segment;
}

// Without a prototype, so that no name means anything but itself.
function newTree(): Tree {
  return Object.create(null);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    // Not encoded at all: a percent sign is one.
    return spaced;
  }
}
