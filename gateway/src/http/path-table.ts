import type { Method } from '@eligo/contract';

/** What is bound to a method at a path, with the path's parameters. */
export interface PathMatch<Target> {
  readonly target: Target;
  readonly params: readonly string[];
}

/**
 * Finds the target of a method and a path by walking its segments, one map look-up each: eighty routes cost what one costs. A literal segment
 * goes before a parameter.
 */
export class PathTable<Target> {
  readonly #root = new Node<Target>();

  add(method: Method, path: string, target: Target): void {
    let node = this.#root;
    for (const segment of segmentsOf(path)) node = segment.startsWith('{') ? node.parameter() : node.literal(segment);
    if (node.targets.has(method)) throw new Error(`Route ${method} ${path} is bound twice`);
    node.targets.set(method, target);
  }

  /** The match; the methods that the path takes, when it is known but not with this one; undefined for an unknown path. */
  find(method: string, path: string): PathMatch<Target> | { readonly allow: readonly string[] } | undefined {
    const params: string[] = [];
    const node = walk(this.#root, segmentsOf(path), 0, params);
    if (node === undefined) return undefined;
    const target = node.targets.get((method === 'HEAD' ? 'GET' : method) as Method);
    return target === undefined ? { allow: methodsOf(node.targets) } : { target, params };
  }
}

// Whatever can be read can be asked for its headers alone.
function methodsOf(targets: ReadonlyMap<Method, unknown>): string[] {
  return [...targets.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

class Node<Target> {
  readonly targets = new Map<Method, Target>();
  readonly literals = new Map<string, Node<Target>>();
  any: Node<Target> | undefined;

  literal(segment: string): Node<Target> {
    let next = this.literals.get(segment);
    if (next === undefined) {
      next = new Node();
      this.literals.set(segment, next);
    }
    return next;
  }

  parameter(): Node<Target> {
    this.any ??= new Node();
    return this.any;
  }
}

// One trailing slash is forgiven; an empty segment anywhere else matches nothing.
function segmentsOf(path: string): string[] {
  const segments = path.split('/');
  segments.shift();
  if (segments.length > 1 && segments.at(-1) === '') segments.pop();
  return segments;
}

function walk<Target>(
  node: Node<Target>,
  segments: readonly string[],
  at: number,
  params: string[],
): Node<Target> | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.targets.size > 0 ? node : undefined;
  const literal = node.literals.get(segment);
  if (literal !== undefined) {
    const found = walk(literal, segments, at + 1, params);
    if (found !== undefined) return found;
  }
  if (node.any === undefined || segment === '') return undefined;
  params.push(segment);
  const found = walk(node.any, segments, at + 1, params);
  if (found === undefined) params.pop();
  return found;
}
