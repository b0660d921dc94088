import { allRoutes, refusalsOf } from '@eligo/contract';
import { failureTable, isFailureCode } from '@eligo/failures';

/** Throws when a route of the contract refuses a request with a code that it does not declare, or with another status than the code's. */
export function assertDeclared(method: string, path: string, answer: { status: number; body: unknown }): void {
  const { code } = (answer.body ?? {}) as { code?: unknown };
  if (answer.status < 400 || typeof code !== 'string') return;
  const pathname = path.split('?', 1)[0] ?? '';
  const found = routes.find((route) => route.method === method && route.path.test(pathname));
  if (found === undefined) return;
  const isDeclared = isFailureCode(code) && found.refusals.has(code) && failureTable[code].status === answer.status;
  if (!isDeclared) throw new Error(`The contract does not declare ${answer.status} ${code} for ${found.id}`);
}

const routes = allRoutes.map((route) => ({
  id: route.id,
  method: route.method,
  path: new RegExp(`^${route.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  refusals: refusalsOf(route),
}));
