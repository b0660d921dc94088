import type { ApiAnswer } from '@eligo/testkit';

/** Sends again what a limit refuses, as a client does that is told to come again. The wait counts. */
export async function served(send: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  for (let tries = 1; ; tries++) {
    const answer = await send();
    if (answer.status === 200) return answer;
    const isRefused = answer.status === 503 || answer.status === 429;
    if (!isRefused || tries === mostTries) throw new Error(`a shop was answered ${answer.status}`);
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

const mostTries = 60;
const retryMs = 500;
