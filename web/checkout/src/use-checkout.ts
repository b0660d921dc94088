import type { PagePayment, PageView } from '@eligo/contract';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { cancel, PageError, pay, readPage } from './page-api.ts';

/** The session as the page knows it, and what goes on with it. */
export interface Checkout {
  readonly view: PageView | undefined;
  readonly isMissing: boolean;
  readonly isOffline: boolean;
  /** `waiting`: the outcome of a payment is still to come, from this page, another tab, or before a reload. */
  readonly phase: 'idle' | 'paying' | 'waiting';
  /** What came of the last try, if not a payment: a code of a refusal. */
  readonly problem: string | undefined;
  /** Counts payments that had an outcome, so that the card fields begin anew. */
  readonly tries: number;
  /** This page paid: the shopper is sent back to the shop. */
  readonly hasPaid: boolean;
  pay(payment: PagePayment): Promise<void>;
  cancel(): Promise<void>;
}

const pollEveryMs = 1_000;
/** A request whose answer was lost may still arrive: so many looks that find nothing say that it did not. */
const looksAfterLoss = 4;
/** A payment has its outcome or is given up within minutes; a page that is left open asks no longer than this. */
const mostLooks = 900;

export function useCheckout(): Checkout {
  const [view, setView] = useState<PageView | undefined>(undefined);
  const [isMissing, setMissing] = useState(false);
  const [isOffline, setOffline] = useState(false);
  const [phase, setPhase] = useState<Checkout['phase']>('idle');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [tries, setTries] = useState(0);
  const [hasPaid, setHasPaid] = useState(false);
  const active = useRef(false);
  const known = useRef<PageView | undefined>(undefined);
  known.current = view;

  /** Reads the session until it is reached and, with `looks`, no payment of it is under way. */
  const look = useCallback(async (looks: number): Promise<PageView | undefined> => {
    let quiet = 0;
    for (let count = 0; count < mostLooks; count++) {
      try {
        const found = await readPage();
        setOffline(false);
        setView(found);
        quiet = found.payment_in_flight ? 0 : quiet + 1;
        if (found.state !== 'open' || quiet >= looks) return found;
        if (found.payment_in_flight) setPhase('waiting');
      } catch (error) {
        if (!(error instanceof PageError)) throw error;
        if (error.code === 'checkout_session_not_found') {
          setMissing(true);
          return undefined;
        }
        setOffline(error.code === 'unreachable');
      }
      await pause(pollEveryMs);
    }
    return undefined;
  }, []);

  const refresh = useCallback(async () => {
    if (active.current) return;
    active.current = true;
    try {
      await look(1);
    } finally {
      active.current = false;
      setPhase('idle');
    }
  }, [look]);

  useEffect(() => {
    void refresh();
    // Another tab, the back button or a sleep may have made this page old.
    const again = () => {
      if (document.visibilityState === 'visible') void refresh();
    };
    addEventListener('pageshow', again);
    addEventListener('online', again);
    document.addEventListener('visibilitychange', again);
    return () => {
      removeEventListener('pageshow', again);
      removeEventListener('online', again);
      document.removeEventListener('visibilitychange', again);
    };
  }, [refresh]);

  const act = useCallback(
    async (step: () => Promise<PageView>) => {
      active.current = true;
      const before = known.current;
      setProblem(undefined);
      setPhase('paying');
      try {
        const done = await step().catch(async (error: unknown) => {
          if (!(error instanceof PageError)) throw error;
          return recover(error, before, look, setPhase, setProblem);
        });
        if (done === undefined) return;
        setView(done);
        // An outcome asks for other cards; a request that did not arrive leaves what was typed.
        if (done.next_action !== null || done.state !== 'open') setTries((count) => count + 1);
        if (done.state === 'complete' || done.state === 'letter_pending') setHasPaid(true);
      } finally {
        active.current = false;
        setPhase('idle');
      }
    },
    [look],
  );

  return {
    ...{ view, isMissing, isOffline, phase, problem, tries, hasPaid },
    pay: useCallback((payment) => act(() => pay(payment)), [act]),
    cancel: useCallback(() => act(cancel), [act]),
  };
}

// What was refused because another request pays, or whose answer was lost, has an outcome that the session knows.
async function recover(
  error: PageError,
  before: PageView | undefined,
  look: (looks: number) => Promise<PageView | undefined>,
  setPhase: (phase: Checkout['phase']) => void,
  setProblem: (code: string | undefined) => void,
): Promise<PageView | undefined> {
  const isUndecided = undecided.has(error.code);
  if (isUndecided) setPhase('waiting');
  const found = await look(isUndecided ? looksAfterLoss : 1);
  // What an earlier try came to says nothing of this one.
  const hasOutcome = JSON.stringify(found?.next_action) !== JSON.stringify(before?.next_action);
  if (found?.state === 'open' && !(isUndecided && hasOutcome)) {
    setProblem(isUndecided ? 'unreachable' : error.code);
    return undefined;
  }
  return found;
}

const undecided = new Set(['unreachable', 'lock_timeout', 'deadline_exceeded', 'service_unavailable', 'internal']);

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
