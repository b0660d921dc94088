import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type Page, readPage } from './read-page.ts';
import { resumeSetUp } from './resume-set-up.ts';

/**
 * What the checkout page of a session shows. A card that is saved holds no money, so no job looks for the answer of its bank: where the browser that was asked is
 * gone, the next look at the page goes on with it.
 */
export async function showPage(context: Context, scope: Scope, sessionId: string): Promise<Page> {
  const page = await readPage(context, scope, sessionId);
  if (!page.isSetUpAnswered || page.timeOver) return page;
  try {
    await resumeSetUp(context, scope, page.session, false);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    context.logger.warn(
      { err: error, sessionId },
      'Failed to continue the checkout after the authentication of a saved card; the next page view will retry',
    );
    return page;
  }
  return readPage(context, scope, sessionId);
}
