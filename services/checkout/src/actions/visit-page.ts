import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { awaitsLetters } from '../domain/letter.ts';
import { noteWaitingShopper } from './go-on-without-letters.ts';
import { type Page, type PageReader, readPage } from './read-page.ts';

/**
 * Reads what the shopper of a session sees, and notes that they are there where a letter is awaited. A document alone notes nothing: a chat that previews a
 * link asks for it, too. The page's own script then asks.
 */
export async function visitPage(context: Context, scope: Scope, sessionId: string, reader: PageReader): Promise<Page> {
  const page = await readPage(context, scope, sessionId, reader);
  if (reader.forDocument !== true && awaitsLetters(page.session)) await noteWaitingShopper(context, scope, sessionId);
  return page;
}
