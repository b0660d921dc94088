import { type Bench, placeOf } from '../bench.ts';
import type { Compared } from '../rounds.ts';
import { againstConfirm } from './against-confirm.ts';
import { loadPages, openPages, payOnPages } from './sessions.ts';

/** Loads checkout pages with all their files, as a browser does for the first time, against confirms. */
export async function pageLoad(bench: Bench): Promise<Compared> {
  const place = await placeOf(bench);
  const [[page = ''] = []] = await openPages(place, 1);
  const document = await (await fetch(`http://127.0.0.1:${place.port}${page}`)).text();
  const files = [...document.matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => `/pay${path}`);
  if (files.length === 0) throw new Error('The checkout page names no files');
  return againstConfirm(bench, {
    prepare: (perConnection) => openPages(place, perConnection),
    run: (pages) => loadPages(place, pages, files),
  });
}

/** Pays on the page with a new card for each slot, against confirms of a saved one: cards charged per second. */
export function pagePay(slots: readonly ('health' | 'other')[]) {
  return async (bench: Bench): Promise<Compared> => {
    const place = await placeOf(bench);
    return againstConfirm(bench, {
      prepare: (perConnection) => openPages(place, perConnection),
      run: (pages) => payOnPages(place, pages, slots),
    });
  };
}
