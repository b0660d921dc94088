import type { PageLetter, PagePayment, PageView } from '@eligo/contract';
import { refusalId, viewId } from './document.ts';

/** A refusal of the gateway, or `unreachable` where its answer did not arrive. */
export class PageError extends Error {
  readonly code: string;
  /** Whether the card was declined before it was charged; the code is the bank's then. */
  readonly isDecline: boolean;

  constructor(code: string, isDecline = false) {
    super(code);
    this.code = code;
    this.isDecline = isDecline;
  }
}

/** Longer than the gateway takes for a payment (`answeredWithinMs`). */
const timeoutMs = 15_000;
const page = location.pathname.replace(/\/+$/, '');
/** Whether this is the payment page of an invoice, and not that of a session. */
export const isInvoicePage = /\/invoice\/[^/]+$/.test(page);

/** Where a document of this page's invoice is. */
export function documentUrl(format: 'html' | 'pdf'): string {
  return `${page}/document.${format}`;
}

/** The page as its document brought it; undefined where it has to be asked for. */
export const firstView = take<PageView>(viewId);
/** Why there is no page, where its document says so. */
export const firstRefusal = take<string>(refusalId);

function take<Content>(id: string): Content | undefined {
  const block = document.getElementById(id);
  block?.remove();
  return block === null ? undefined : (JSON.parse(block.textContent) as Content);
}

export function readPage(): Promise<PageView> {
  return ask('session');
}

export function pay(payment: PagePayment): Promise<PageView> {
  return ask('pay', payment);
}

/** Asks what came of an authentication; with `giveUp` it is ended if the bank still waits. */
export function authenticate(giveUp: boolean): Promise<PageView> {
  return ask('authenticate', giveUp ? { give_up: true } : {});
}

/** Enters a promo code; null removes the one that was entered. */
export function changePromoCode(code: string | null): Promise<PageView> {
  return ask('promo-code', { code });
}

export function answerLetter(answers: PageLetter): Promise<PageView> {
  return ask('letter', answers);
}

export function cancel(): Promise<PageView> {
  return ask('cancel', {});
}

async function ask(action: string, body?: unknown): Promise<PageView> {
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(`${page}/${action}`, {
      ...(body === undefined
        ? {}
        : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      cache: 'no-store',
      signal: AbortSignal.timeout(timeoutMs),
    });
    status = response.status;
    answer = await response.json();
  } catch {
    throw new PageError('unreachable');
  }
  if (status === 200) return answer as PageView;
  throw new PageError(codeOf(status, answer), status === 402);
}

// A refusal has a code, or a list of what is wrong with the fields.
function codeOf(status: number, answer: unknown): string {
  const { code, decline_code: decline } = (answer ?? {}) as { code?: unknown; decline_code?: unknown };
  if (status === 402 && typeof decline === 'string') return decline;
  if (typeof code === 'string') return code;
  return status === 422 ? 'validation_error' : 'unreachable';
}
