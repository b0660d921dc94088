import { joinedBytes, keyOfAttemptFinish, type StoredAnswer } from '@eligo/postgres';

/** The columns that `withAnswers` adds to a row, for `json_to_recordset`. */
export const answerColumns = 'answer_status integer, answer_start integer, answer_bytes integer';

/** The SQL part `key`, which stores the answers under the keys of the attempts that `attemptId`, a column of the part `from`, names. The joined answers are `$4`. */
export function answerText(attemptId: string, from: string): string {
  const body = 'substring($4::bytea from c.answer_start for c.answer_bytes)';
  return `key as (
     ${keyOfAttemptFinish(attemptId, 'c.answer_status', body, from)}
   )`;
}

/** The values of a statement for a group: the rows as JSON, and the answers as one binary value, which the statement cuts apart. */
export function withAnswers<Item extends { readonly answer: StoredAnswer | undefined }>(
  items: readonly Item[],
  rowOf: (item: Item) => object,
): [rows: string, answers: Buffer] {
  const answers = items.map(({ answer }) => {
    if (answer === undefined) throw new Error('A request has no answer for its key');
    return answer;
  });
  const { bytes, starts } = joinedBytes(answers.map(({ body }) => body));
  const rows = items.map((item, at) => ({
    ...rowOf(item),
    ...{ answer_status: answers[at]?.status, answer_start: starts[at], answer_bytes: answers[at]?.body.length },
  }));
  return [JSON.stringify(rows), bytes];
}
