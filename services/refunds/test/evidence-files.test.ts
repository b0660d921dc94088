import { hash } from 'node:crypto';
import { paddedPdf } from '@eligo/pdf/padded-pdf';
import type { Scope } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { uploadEvidence } from '../src/actions/upload-evidence.ts';
import type { Context } from '../src/context.ts';
import { evidenceFailpoints } from '../src/failpoints.ts';
import { clearStaleContent, staleContent } from '../src/store/evidence-files.ts';
import { erasedDisputeTests } from './erased-disputes.ts';
import { eventsOf, type Fixture, openFixture, someScope } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
afterEach(() => {
  turnFailpointsOff();
  turnFailpointsOn();
});

async function disputed(scope = someScope()) {
  const session = await on.paid(scope, { hsa: 2_000 });
  const chargeId = session.cards[0]?.chargeId ?? '';
  const { disputeId, paymentIntentId } = await on.refunds.createTestDispute({ chargeId }, on.as(scope));
  return { scope, disputeId, paymentIntentId };
}

interface Given {
  readonly field: string;
  readonly fileId: string;
  readonly content: Buffer;
}

const pdf = (size = 1_000, pages = 1) => paddedPdf(size, pages);
const newFile = (field: string, content = pdf()): Given => ({ field, fileId: newId('file'), content });
const described = ({ field, fileId, content }: Given) => ({ field, fileId, type: 'pdf', sizeBytes: content.length });
const begin = (scope: Scope, disputeId: string, files: readonly Given[], clearedFields: string[] = []) =>
  on.refunds.beginEvidence({ disputeId, files: files.map(described), clearedFields }, on.as(scope));

// As the gateway hands a file over: what is there already is not sent again.
async function give(scope: Scope, disputeId: string, file: Given): Promise<void> {
  const { files } = await begin(scope, disputeId, [file]);
  const [{ isUploaded = false, parts = 0 } = {}] = files;
  if (isUploaded) return;
  const { field, fileId, content } = file;
  const mebibyte = 1_048_576;
  for (let part = parts; part * mebibyte < content.length; part++) {
    const bytes = content.subarray(part * mebibyte, (part + 1) * mebibyte);
    await on.refunds.addEvidencePart({ disputeId, field, fileId, part, bytes }, on.as(scope));
  }
  await on.refunds.uploadEvidence({ disputeId, field, fileId }, on.as(scope));
}

const update = (scope: Scope, id: string, evidence: Record<string, string>, submit = false) =>
  on.refunds.updateDispute({ id, evidence, submit }, on.as(scope));
const copiesOf = async ({ content }: Given) =>
  (await on.filesAtProcessor()).filter(({ sha256 }) => sha256 === hash('sha256', content));
const waiting = (id: string) => on.admin('select part from refunds.evidence_parts where dispute_id = $1', [id]);
const refusedAt = (field: string, type: string) => ({
  violations: [expect.objectContaining({ loc: ['body', 'dispute', 'evidence', field], type })],
});

erasedDisputeTests(() => on, disputed, {
  give: ({ scope, disputeId }, field, fileId) => give(scope, disputeId, { ...newFile(field), fileId }),
  async begin({ scope, disputeId }, field, fileId) {
    await begin(scope, disputeId, [{ ...newFile(field), fileId }]);
    const part = { disputeId, field, fileId, part: 0, bytes: pdf() };
    await on.refunds.addEvidencePart(part, on.as(scope));
  },
});

describe('a file of evidence', () => {
  it('is uploaded byte for byte, shown by our identifier, replaced and cleared, and leaves no content here [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const receipt = newFile('receipt', pdf(2_500_000));
    const terms = newFile('refund_policy');
    for (const file of [receipt, terms]) await give(scope, disputeId, file);
    expect(await waiting(disputeId)).toEqual([]);
    const evidence = { receipt: receipt.fileId, refund_policy: terms.fileId, product_description: 'A thermometer' };
    expect(await update(scope, disputeId, evidence)).toMatchObject({ evidence, hasEvidence: true });
    expect(await copiesOf(receipt)).toMatchObject([{ filename: `${receipt.fileId}.pdf` }]);
    const other = newFile('receipt');
    await give(scope, disputeId, other);
    const changed = { receipt: other.fileId, refund_policy: '' };
    expect((await update(scope, disputeId, changed, true)).evidence).toEqual({
      ...{ receipt: other.fileId, product_description: 'A thermometer' },
    });
    await on.lookAtDisputes();
    const read = await on.refunds.getDispute({ id: disputeId }, on.as(scope));
    expect(read).toMatchObject({ status: 'under_review', evidence: { receipt: other.fileId } });
    expect(await eventsOf(on, disputeId)).toHaveLength(4);
  });

  it('of another processor account, or given on the processor’s own pages, is left out [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt');
    const elsewhere = await on.port(scope).uploadEvidence(
      {
        name: 'elsewhere.pdf',
        mediaType: 'application/pdf',
        sizeBytes: file.content.length,
        pieces: async function* () {
          yield file.content;
        },
      },
      { idempotencyKey: newId('request') },
    );
    const [names] = await on.admin<{ name: string }>(
      'select processor_dispute_id as name from refunds.disputes where id = $1',
      [disputeId],
    );
    if (elsewhere.kind !== 'stored' || names === undefined) throw new Error('not stored');
    const change = { evidence: { receipt: elsewhere.fileId }, submit: false };
    await on.port(scope).updateDispute(names.name, change, { idempotencyKey: newId('request') });
    await on.lookAtDisputes();
    const read = await on.refunds.getDispute({ id: disputeId }, on.as(scope));
    expect(read).toMatchObject({ evidence: {}, hasEvidence: true });
    expect(
      await on.port(someScope()).updateDispute(names.name, change, { idempotencyKey: newId('request') }),
    ).toMatchObject({
      kind: 'rejected',
    });
  });

  it.each([
    [
      'beyond 4.5 MB together',
      [newFile('receipt', pdf(2_500_000)), newFile('refund_policy', pdf(2_000_001))],
      'refund_policy',
      'evidence_files_too_large',
    ],
    ['in a field for texts', [newFile('customer_name')], 'customer_name', 'invalid_value'],
  ])('%s is a 422 that names its field, and nothing is stored [D14.254]', async (_what, files, field, type) => {
    const { scope, disputeId } = await disputed();
    await expect(begin(scope, disputeId, files)).rejects.toMatchObject(refusedAt(field, type));
    expect(await on.admin('select 1 from refunds.evidence_files where dispute_id = $1', [disputeId])).toEqual([]);
  });

  it('counts with the files that the dispute keeps, and not with those that it replaces or clears [D14.254]', async () => {
    const { scope, disputeId } = await disputed();
    const large = newFile('receipt', pdf(4_000_000));
    await give(scope, disputeId, large);
    await update(scope, disputeId, { receipt: large.fileId });
    const more = newFile('refund_policy', pdf(600_000));
    await expect(begin(scope, disputeId, [more])).rejects.toMatchObject(
      refusedAt('refund_policy', 'evidence_files_too_large'),
    );
    expect((await begin(scope, disputeId, [more], ['receipt'])).files).toMatchObject([{ isUploaded: false, parts: 0 }]);
    expect((await begin(scope, disputeId, [more, newFile('receipt')])).files).toHaveLength(2);
  });

  it('is taken by a dispute that needs a response alone, before its deadline, for at most 100 files [D14.253] [D14.254]', async () => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt');
    await on.admin(`update refunds.disputes set due_by = now() - interval '1 minute' where id = $1`, [disputeId]);
    const late = { violations: [{ loc: ['body', 'dispute', 'evidence'], type: 'evidence_past_due' }] };
    await expect(begin(scope, disputeId, [file])).rejects.toMatchObject(late);
    await on.admin(`update refunds.disputes set due_by = now() + interval '1 day' where id = $1`, [disputeId]);
    await expect(begin(someScope(), disputeId, [file])).rejects.toMatchObject({ code: 'dispute_not_found' });
    await on.admin(
      `insert into refunds.evidence_files (account_id, test_mode, dispute_id, field, file_id, type, size_bytes, upload_key)
       select $1, true, $2, 'receipt', 'ffile_' || n, 'pdf', 1, 'k' from generate_series(1, 100) n`,
      [scope.accountId, disputeId],
    );
    await expect(begin(scope, disputeId, [file])).rejects.toMatchObject(
      refusedAt('receipt', 'too_many_evidence_files'),
    );
    await on.refunds.closeDispute({ id: disputeId }, on.as(scope));
    await expect(begin(scope, disputeId, [file])).rejects.toMatchObject({ code: 'dispute_not_open' });
  });

  it('that the processor refuses is a 422 that names its field, and its content is deleted [D14.254]', async () => {
    const { scope, disputeId } = await disputed();
    // Begins late: the processor looks at the first bytes.
    const text = newFile('receipt', Buffer.concat([Buffer.from('a text, and then '), pdf()]));
    await expect(give(scope, disputeId, text)).rejects.toMatchObject(refusedAt('receipt', 'evidence_file_refused'));
    expect(await waiting(disputeId)).toEqual([]);
    await expect(update(scope, disputeId, { receipt: text.fileId })).rejects.toMatchObject({
      code: 'service_unavailable',
    });
  });
});

describe('the pages of evidence', () => {
  it.each([
    ['of one file with 51 pages', pdf(9_000, 51), 'evidence_too_many_pages'],
    ['of a damaged PDF', pdf().subarray(0, 60), 'evidence_file_unreadable'],
    [
      'of an encrypted PDF',
      Buffer.from(pdf().toString('latin1').replace('<</Root', '<</Encrypt 9 0 R/Root'), 'latin1'),
      'evidence_file_encrypted',
    ],
  ])('%s are a 422 that names its field, before anything is uploaded [D14.254]', async (_what, content, type) => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt', content);
    await expect(give(scope, disputeId, file)).rejects.toMatchObject(refusedAt('receipt', type));
    expect(await waiting(disputeId)).toEqual([]);
    expect(await copiesOf(file)).toEqual([]);
  });

  it('are at most 50 in all files of a dispute, those that it keeps included, before it is submitted [D14.254]', async () => {
    const { scope, disputeId } = await disputed();
    const [kept, more, less] = [
      newFile('receipt', pdf(9_000, 40)),
      newFile('refund_policy', pdf(9_000, 11)),
      newFile('refund_policy', pdf(9_000, 10)),
    ];
    for (const file of [kept, more, less]) await give(scope, disputeId, file);
    await update(scope, disputeId, { receipt: kept.fileId });
    await expect(update(scope, disputeId, { refund_policy: more.fileId }, true)).rejects.toMatchObject(
      refusedAt('refund_policy', 'evidence_too_many_pages'),
    );
    expect(await on.refunds.getDispute({ id: disputeId }, on.as(scope))).toMatchObject({ submissionCount: 0 });
    await update(scope, disputeId, { refund_policy: less.fileId });
    expect(await update(scope, disputeId, { refund_policy: more.fileId, receipt: '' }, true)).toMatchObject({
      status: 'under_review',
    });
  });
});

describe('an upload', () => {
  it.each(evidenceFailpoints)('that a crash ends at %s stores the file once [D14.253]', async (name) => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt', pdf(1_200_000));
    armFailpoint(name, { action: 'error' });
    await expect(give(scope, disputeId, file)).rejects.toThrow();
    turnFailpointsOff();
    await on.restart();
    await give(scope, disputeId, file);
    expect((await update(scope, disputeId, { receipt: file.fileId })).evidence).toEqual({ receipt: file.fileId });
    expect(await copiesOf(file)).toHaveLength(1);
    expect(await waiting(disputeId)).toEqual([]);
  });

  it.each([
    ['drop_before', 1, 1],
    ['drop_after', 1, 1],
    ['in_progress', 1, 1],
    ['rate_limited', 1, 1],
    // The processor keeps its 500 under the key, also where it stored the file: only another key tells the file's name.
    ['error_before', 2, 1],
    ['error_after', 2, 2],
  ])(
    'that ends with %s is 503, and repeated %i times it is done, with %i copies at the processor [D14.253]',
    async (kind, repeats, copies) => {
      const { scope, disputeId } = await disputed();
      const file = newFile('receipt');
      await on.fault({ call: 'files.create', kind });
      for (let turn = 0; turn < repeats; turn++) {
        await expect(give(scope, disputeId, file)).rejects.toMatchObject({ code: 'service_unavailable' });
      }
      await give(scope, disputeId, file);
      expect(await copiesOf(file)).toHaveLength(copies);
      expect((await update(scope, disputeId, { receipt: file.fileId })).evidence).toEqual({ receipt: file.fileId });
    },
  );

  it('takes no longer than its request has left [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt');
    const { field, fileId, content } = file;
    await begin(scope, disputeId, [file]);
    await on.refunds.addEvidencePart({ disputeId, field, fileId, part: 0, bytes: content }, on.as(scope));
    const parts = { database: on.service.database, processors: { at: on.port }, failpoint: () => undefined };
    const context = parts as unknown as Context;
    const call = { timeoutMs: () => 0 };
    await expect(uploadEvidence(context, scope, { disputeId, field, fileId }, call)).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    expect(await copiesOf(file)).toEqual([]);
  });

  it('goes on with the part after the last one that arrived, and needs all of them [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt', pdf(1_048_576 + 10));
    const { field, fileId, content } = file;
    await begin(scope, disputeId, [file]);
    const part = { disputeId, field, fileId, part: 0, bytes: content.subarray(0, 1_048_576) };
    for (const _ of [1, 2]) await on.refunds.addEvidencePart(part, on.as(scope));
    await expect(on.refunds.uploadEvidence({ disputeId, field, fileId }, on.as(scope))).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    expect((await begin(scope, disputeId, [file])).files).toMatchObject([{ isUploaded: false, parts: 1 }]);
    await give(scope, disputeId, file);
    expect(await copiesOf(file)).toHaveLength(1);
  });

  it('that was given up loses its content after an hour, and can begin anew [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt');
    await begin(scope, disputeId, [file]);
    const { field, fileId, content } = file;
    await on.refunds.addEvidencePart({ disputeId, field, fileId, part: 0, bytes: content }, on.as(scope));
    await on.service.jobs.runOnce('delete-stale-evidence');
    expect(await waiting(disputeId)).toHaveLength(1);
    await on.admin(
      `update refunds.evidence_files set content_until = now() - interval '1 second' where dispute_id = $1`,
      [disputeId],
    );
    await on.service.jobs.runOnce('delete-stale-evidence');
    expect(await waiting(disputeId)).toEqual([]);
    await give(scope, disputeId, file);
    expect(await copiesOf(file)).toHaveLength(1);
  });

  it('of which a part comes after another request uploaded it, or after its hour, is 503 [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const [uploaded, late] = [newFile('receipt'), newFile('refund_policy')];
    await give(scope, disputeId, uploaded);
    await begin(scope, disputeId, [late]);
    await on.admin(`update refunds.evidence_files set content_until = now() - interval '1 second' where file_id = $1`, [
      late.fileId,
    ]);
    await on.service.jobs.runOnce('delete-stale-evidence');
    for (const { field, fileId, content } of [uploaded, late]) {
      const part = { disputeId, field, fileId, part: 0, bytes: content };
      await expect(on.refunds.addEvidencePart(part, on.as(scope))).rejects.toMatchObject({
        code: 'service_unavailable',
      });
    }
    await give(scope, disputeId, late);
    expect(await copiesOf(late)).toHaveLength(1);
  });

  it('that begins again while the job deletes keeps what comes then [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt');
    const { field, fileId, content } = file;
    await begin(scope, disputeId, [file]);
    await on.admin(`update refunds.evidence_files set content_until = now() - interval '1 second' where file_id = $1`, [
      fileId,
    ]);
    // As for the job: found as stale, and then the request is repeated.
    const stale = await staleContent(on.service.database, 100);
    expect(stale).toContainEqual({ scope, key: { disputeId, field, fileId } });
    await begin(scope, disputeId, [file]);
    await on.refunds.addEvidencePart({ disputeId, field, fileId, part: 0, bytes: content }, on.as(scope));
    for (const one of stale) await clearStaleContent(on.service.database, one.scope, one.key);
    await on.refunds.uploadEvidence({ disputeId, field, fileId }, on.as(scope));
    expect(await copiesOf(file)).toHaveLength(1);
  });

  it('is recorded once, and its content waits only until then, whatever the code does [D14.253]', async () => {
    const { scope, disputeId } = await disputed();
    const file = newFile('receipt');
    await give(scope, disputeId, file);
    const values = [disputeId];
    await expect(
      on.admin(`update refunds.evidence_files set processor_file_id = 'other' where dispute_id = $1`, values),
    ).rejects.toThrow('is at the processor');
    const part = `insert into refunds.evidence_parts select account_id, test_mode, dispute_id, field, file_id, 0, 'x' from refunds.evidence_files where dispute_id = $1`;
    await expect(on.admin(part, values)).rejects.toThrow('takes no content');
  });
});
