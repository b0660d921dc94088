import { describe, expect, it } from 'vitest';

interface Place {
  admin<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  eligo(...args: string[]): Promise<{ code: number; out: string[]; err: string[] }>;
  json(...args: string[]): Promise<{ code: number; answer: Record<string, unknown> }>;
  /** An event that webhooks has dealt with, and what it did with it. */
  someEvent(): Promise<{ id: string; deliveries: () => Promise<number> }>;
  /** Puts it aside, as after twenty failures. */
  makeDead(id: string): Promise<void>;
}

/** The commands for dead letters. */
export function deadLetterTests({ admin, eligo, json, someEvent, makeDead }: Place): void {
  describe('dead letters', () => {
    it('are listed over all services, shown without their payload, and handled once', async () => {
      const one = await someEvent();
      await makeDead(one.id);
      const { answer } = await json('dead-letters', 'list');
      expect(answer.dead_letters).toMatchObject([
        { service: 'webhooks', consumer: 'public-events', event_id: one.id, error: 'TypeError', deliveries: 20 },
      ]);
      const shown = await json('dead-letters', 'show', one.id, '--service', 'webhooks');
      expect(shown.answer.dead_letters).toMatchObject([
        { event_id: one.id, record: 'customer', aggregate: expect.stringMatching(/^fcus_/), redrives: 0 },
      ]);
      expect(JSON.stringify(shown.answer)).not.toContain('Ratemary');
      const { code, answer: outcome } = await json('dead-letters', 'redrive', '--event', one.id);
      expect({ code, outcome }).toEqual({ code: 0, outcome: { asked: 1, done: 1, failed: [], waiting: [] } });
      expect(await one.deliveries()).toBe(1);
      expect((await json('dead-letters', 'list')).answer).toEqual({ dead_letters: [] });
    });

    it('that fail again are named, with exit code 1, and stay', async () => {
      const [good, bad] = [await someEvent(), await someEvent()];
      await makeDead(good.id);
      await makeDead(bad.id);
      await admin(
        `create function webhooks.refuse_bad() returns trigger language plpgsql as $$ begin
           if new.id = '${bad.id}' then raise exception 'no' using errcode = 'P0001'; end if; return new; end $$`,
      );
      await admin(
        'create trigger refuse_bad before insert on webhooks.events for each row execute function webhooks.refuse_bad()',
      );
      const { code, answer } = await json('dead-letters', 'redrive', '--all', '--service', 'webhooks');
      expect({ code, ...answer }).toMatchObject({ code: 1, asked: 2, done: 1, waiting: [] });
      expect(answer.failed).toMatchObject([{ event_id: bad.id, redrives: 1 }]);
      await admin('drop trigger refuse_bad on webhooks.events');
      await admin('drop function webhooks.refuse_bad()');
      expect(await json('dead-letters', 'redrive', '--all')).toMatchObject({ code: 0, answer: { done: 1 } });
      expect([await good.deliveries(), await bad.deliveries()]).toEqual([1, 1]);
    });

    it('of a large incident are all asked for, and the oldest ten thousand of a service are waited for', async () => {
      await admin(
        `insert into webhooks.dead_letters (consumer, event_id, type, account_id, test_mode, payload, error, deliveries)
         select 'nobody', 'fevt_' || lpad(n::text, 6, '0'), 't', 'facct_a', true, '', 'Error', 20 from generate_series(1, 10001) n`,
      );
      const { code, answer } = await json('dead-letters', 'redrive', '--all', '--consumer', 'nobody', '--wait', '0s');
      expect({ code, ...answer }).toMatchObject({ code: 1, asked: 10_001, done: 0, failed: [], not_waited_for: 1 });
      expect(answer.waiting).toHaveLength(10_000);
      expect(answer.waiting).not.toContainEqual(expect.objectContaining({ redrive_asked_at: null }));
      const asked =
        "select count(*)::int as asked from webhooks.dead_letters where consumer = 'nobody' and redrive_at is not null";
      expect(await admin(asked)).toEqual([{ asked: 10_001 }]);
      await admin("delete from webhooks.dead_letters where consumer = 'nobody'");
    });

    it('asked for wrongly are refused in words', async () => {
      await expect(eligo('dead-letters', 'redrive')).resolves.toMatchObject({
        code: 2,
        err: [expect.stringContaining('--event EVENT_ID or --all is required')],
      });
      await expect(eligo('dead-letters', 'list', '--service', 'nobody')).resolves.toMatchObject({ code: 2 });
      await expect(eligo('dead-letters', 'list', '--limit', '0')).resolves.toMatchObject({ code: 2 });
      await expect(eligo('dead-letters', 'show', 'fevt_unknown')).resolves.toMatchObject({ code: 1 });
    });
  });
}
