import { afterEach } from 'vitest';
import { logTails } from './log-tails.ts';

// What a component refused, it says in its log and not in its answer: a failed test is read together with both.
afterEach(({ task }) => {
  const error = task.result?.state === 'fail' ? task.result.errors?.at(-1) : undefined;
  const tails = error && logTails();
  if (!error || !tails) return;
  error.message += `\n\n${tails}`;
  error.stack &&= `${error.stack}\n\n${tails}`;
});
