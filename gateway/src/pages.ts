import type { Readiness } from '@eligo/service';
import { PathTable } from './http/path-table.ts';

/** What is public and outside the contract's routes (decisions 10): each page gives its status and its JSON. */
export type Pages = PathTable<() => Promise<Page> | Page>;

/** The answer of a page. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

/** `/healthz` says that the process runs, `/readyz` that it can serve. */
export function openPages(parts: { openapi: () => string; ready: () => Promise<Readiness> }): Pages {
  const pages: Pages = new PathTable();
  // Described when it is first asked for: it takes longer than the rest of the start.
  let openapi: string | undefined;
  pages.add('GET', '/v1/openapi.json', () => {
    openapi ??= parts.openapi();
    return { status: 200, text: openapi };
  });
  pages.add('GET', '/healthz', () => ({ status: 200, text: '{"status":"ok"}' }));
  pages.add('GET', '/readyz', async () => {
    const { ready, checks } = await parts.ready();
    return { status: ready ? 200 : 503, text: JSON.stringify({ status: ready ? 'ok' : 'unavailable', checks }) };
  });
  return pages;
}
