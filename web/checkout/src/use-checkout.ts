import type { PageLetter, PagePayment, PageView } from '@eligo/contract';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { answeredWithinMs } from './document.ts';
import {
  answerLetter,
  authenticate,
  cancel,
  changePromoCode,
  firstRefusal,
  firstView,
  PageError,
  pay,
  readPage,
} from './page-api.ts';
import { isFinal } from './refused.tsx';

/** The session as the page knows it, and what goes on with it. */
export interface Checkout {
  readonly view: PageView | undefined;
  /** The code of why there is no page to show. */
  readonly refusal: string | undefined;
  readonly isOffline: boolean;
  /** `waiting`: the outcome of a payment is still to come, from this page, another tab, or before a reload. `pricing`: a promo code is on its way. */
  readonly phase: 'idle' | 'paying' | 'waiting' | 'pricing';
  /** What came of the last try, if not a payment: a refusal. */
  readonly problem: PageError | undefined;
  /** Counts payments that had an outcome, so that the card fields begin anew. */
  readonly tries: number;
  /** This page paid: the shopper is sent back to the shop. */
  readonly hasPaid: boolean;
  pay(payment: PagePayment): Promise<void>;
  /** The bank's window or frame is done, or the shopper wants another card. */
  authenticate(giveUp: boolean): Promise<void>;
  answerLetter(answers: PageLetter): Promise<void>;
  /** Enters a promo code, or removes it with null; answers the code of the refusal. */
  changePromoCode(code: string | null): Promise<string | undefined>;
  cancel(): Promise<void>;
}

/** Whether nothing has begun since. */
type IsLast = () => boolean;
/** Whether a look that began at a time found what it is for; `quiet` counts the looks in a row that found no payment under way. */
type IsEnough = (found: PageView, quiet: number, startedAt: number) => boolean;

const pollEveryMs = 1_000;
/** A request whose answer was lost may still be carried out: for the gateway's time, and this long on its way there. */
const onItsWayMs = 1_000;
/** The last looks of those that find nothing: a request that was held up on its way may arrive later still. */
const looksAfterLoss = 4;
/** A page that was refused so often says that it cannot be loaded; it goes on asking. */
const looksRefused = 4;
/** A page that shows the bank's question looks whether it was answered in another tab, or its time is over. */
const lookWhileAskedMs = 5_000;
/** A shopper who waits for a letter is there while the page asks; a denial then goes on with another card. */
const lookForLetterMs = 10_000;
/** A payment has its outcome or is given up within minutes; a page that is left open asks no longer than this. */
const mostLooks = 900;

export function useCheckout(): Checkout {
  const [view, setView] = useState<PageView | undefined>(firstView);
  const [refusal, setRefusal] = useState(firstRefusal);
  const [isOffline, setOffline] = useState(false);
  const [phase, setPhase] = useState<Checkout['phase']>('idle');
  const [problem, setProblem] = useState<PageError | undefined>(undefined);
  const [tries, setTries] = useState(0);
  const [hasPaid, setHasPaid] = useState(false);
  /** What is under way. An act is what the shopper asked for; it takes the place of a look. */
  const active = useRef<'look' | 'act' | undefined>(undefined);
  const begun = useRef(0);
  const known = useRef<PageView | undefined>(undefined);
  known.current = view;

  /** Answers whether nothing has begun since: what began earlier no longer says what the page shows. */
  const begin = useCallback((what: 'look' | 'act'): IsLast => {
    const own = ++begun.current;
    active.current = what;
    // What was said before is past: the act has an answer of its own.
    if (what === 'act') {
      setProblem(undefined);
      setOffline(false);
    }
    return () => begun.current === own;
  }, []);
  const end = useCallback((isLast: IsLast) => {
    if (!isLast()) return;
    active.current = undefined;
    setPhase('idle');
  }, []);

  /** Reads the session until it is over, or what was found is enough. */
  const look = useCallback(async (isEnough: IsEnough, isLast: IsLast): Promise<PageView | undefined> => {
    let quiet = 0;
    let refused = 0;
    for (let count = 0; count < mostLooks && isLast(); count++) {
      try {
        const startedAt = performance.now();
        const found = await readPage();
        if (!isLast()) return undefined;
        setOffline(false);
        setRefusal(undefined);
        setView(found);
        refused = 0;
        quiet = found.payment_in_flight ? 0 : quiet + 1;
        if (found.state !== 'open' || isEnough(found, quiet, startedAt)) return found;
        if (found.payment_in_flight) setPhase('waiting');
      } catch (error) {
        if (!(error instanceof PageError)) throw error;
        if (!isLast()) return undefined;
        if (isFinal(error.code)) {
          setView(undefined);
          setRefusal(error.code);
          return undefined;
        }
        setOffline(error.code === 'unreachable');
        if (error.code !== 'unreachable') refused++;
        // The first one stays: each is told to a screen reader, and the text is the same.
        if (refused >= looksRefused && known.current === undefined) setRefusal((told) => told ?? error.code);
      }
      await pause(pollEveryMs);
    }
    return undefined;
  }, []);

  const refresh = useCallback(async () => {
    // The document of a refusal has no page to ask for.
    if (active.current !== undefined || firstRefusal !== undefined) return;
    const isLast = begin('look');
    try {
      await look(asksShopper, isLast);
    } finally {
      end(isLast);
    }
  }, [look, begin, end]);

  const refreshVisible = useCallback(() => {
    if (document.visibilityState === 'visible') void refresh();
  }, [refresh]);

  useEffect(() => {
    // A shopper who waits for a letter is there from now on, which a document alone does not say.
    if (firstView === undefined || firstView.state === 'letter_pending') void refresh();
    // Another tab, the back button or a sleep may have made this page old. One that was just loaded is not.
    const show = ({ persisted }: PageTransitionEvent) => {
      if (!persisted) return;
      // Who comes back to a page that has paid wants to read it: it stays.
      setHasPaid(false);
      refreshVisible();
    };
    addEventListener('pageshow', show);
    addEventListener('online', refreshVisible);
    document.addEventListener('visibilitychange', refreshVisible);
    return () => {
      removeEventListener('pageshow', show);
      removeEventListener('online', refreshVisible);
      document.removeEventListener('visibilitychange', refreshVisible);
    };
  }, [refresh, refreshVisible]);

  useEvery(lookWhileAskedMs, refresh, phase === 'idle' && view?.authentication != null);
  useEvery(lookForLetterMs, refreshVisible, phase === 'idle' && view?.state === 'letter_pending');

  const act = useCallback(
    async (step: () => Promise<PageView>) => {
      const isLast = begin('act');
      const before = known.current;
      const sentAt = performance.now();
      setPhase('paying');
      try {
        const answer = await step().catch(async (error: unknown) => {
          if (!(error instanceof PageError)) throw error;
          if (!isLast()) return undefined;
          const isEnough = undecided.has(error.code) ? afterLoss(before, sentAt) : asksShopper;
          if (undecided.has(error.code)) setPhase('waiting');
          const found = await look(isEnough, isLast);
          const said = problemOf(error, before, found);
          if (isLast()) setProblem(said);
          return said === undefined ? found : undefined;
        });
        if (answer === undefined || !isLast()) return;
        if (isUndecidedView(answer)) setPhase('waiting');
        // A processor that is slow to answer: the response comes before the outcome, and the form must not be shown again meanwhile.
        const done = isUndecidedView(answer) ? await look(asksShopper, isLast) : answer;
        if (done === undefined) return;
        setView(done);
        // An outcome asks for other cards; a request that did not arrive leaves what was typed.
        if (done.next_action !== null || done.state !== 'open') setTries((count) => count + 1);
        if (done.state === 'complete' || done.state === 'letter_pending') setHasPaid(true);
      } finally {
        end(isLast);
      }
    },
    [look, begin, end],
  );

  const price = useCallback(
    async (code: string | null): Promise<string | undefined> => {
      // Something else is under way, which may be a payment.
      if (active.current === 'act') return 'busy';
      const isLast = begin('act');
      setPhase('pricing');
      try {
        const priced = await changePromoCode(code);
        if (isLast()) setView(priced);
        return undefined;
      } catch (error) {
        if (!(error instanceof PageError)) throw error;
        // What was refused, or lost on its way back, may have happened in another tab or in this one.
        const found = await look(asksShopper, isLast);
        const isDone = code === null ? found?.promo_code.entered === null : isEntered(code, found);
        return isDone ? undefined : error.code;
      } finally {
        end(isLast);
      }
    },
    [look, begin, end],
  );

  return {
    ...{ view, refusal, isOffline, phase, problem, tries, hasPaid },
    pay: useCallback((payment) => act(() => pay(payment)), [act]),
    authenticate: useCallback((giveUp) => act(() => authenticate(giveUp)), [act]),
    answerLetter: useCallback((answers) => act(() => answerLetter(answers)), [act]),
    changePromoCode: price,
    cancel: useCallback(() => act(cancel), [act]),
  };
}

// Codes are the same in any case; the shop's own writing of it is shown.
function isEntered(code: string, view: PageView | undefined): boolean {
  return view?.promo_code.entered?.code.toLowerCase() === code.toLowerCase();
}

// Repeats the work while it is on.
function useEvery(ms: number, work: () => unknown, isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(work, ms);
    return () => clearInterval(timer);
  }, [ms, work, isOn]);
}

// The outcome is still to come, and nothing is asked of the shopper meanwhile.
function isUndecidedView({ state, payment_in_flight: inFlight, authentication }: PageView): boolean {
  return state === 'open' && inFlight && authentication === null;
}

const undecided = new Set(['unreachable', 'lock_timeout', 'deadline_exceeded', 'service_unavailable', 'internal']);

// Nothing is under way, or the bank asks.
const asksShopper: IsEnough = (found, quiet) => quiet > 0 || found.authentication !== null;

// A request whose answer was lost has an outcome, or the time in which it could still begin is over.
function afterLoss(before: PageView | undefined, sentAt: number): IsEnough {
  const endsAt = sentAt + onItsWayMs + answeredWithinMs;
  return (found, quiet, startedAt) => {
    if (!isUndecidedView(found) && outcomeOf(found) !== outcomeOf(before)) return true;
    return startedAt >= endsAt && (quiet >= looksAfterLoss || found.authentication !== null);
  };
}

// What an earlier try came to says nothing of this one.
function outcomeOf(view: PageView | undefined): string {
  return JSON.stringify([view?.next_action, view?.authentication]);
}

// What to say of a request that was refused or lost, where the session does not know what came of it.
function problemOf(error: PageError, before: PageView | undefined, found: PageView | undefined): PageError | undefined {
  if (found === undefined) return undefined;
  // The answers to a letter's questions did not arrive.
  if (before?.asks_letter_questions && found.asks_letter_questions) return error;
  if (found.state !== 'open') return undefined;
  if (!undecided.has(error.code)) return error;
  if (outcomeOf(found) !== outcomeOf(before)) return undefined;
  // The bank may have its answer, and the payment has begun.
  if (found.authentication !== null) return new PageError('generic');
  return error.code === 'unreachable' ? error : new PageError('unavailable');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
