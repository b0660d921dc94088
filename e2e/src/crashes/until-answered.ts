import { waitUntil } from '@eligo/testkit';

/** How long an answer is waited for, and which statuses say to ask again. */
export interface Patience {
  readonly what: string;
  readonly withinMs: number;
  readonly again?: readonly number[];
}

/** Asks until there is an answer that does not say to ask again. */
export function untilAnswered<Answer extends { readonly status: number }>(
  ask: () => Promise<Answer | undefined>,
  { what, withinMs, again = [503] }: Patience,
): Promise<Answer> {
  return waitUntil(
    async () => {
      const answer = await ask();
      return answer !== undefined && !again.includes(answer.status) && answer;
    },
    { withinMs, everyMs: 200, what },
  );
}
