import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../src/commands/ledger.ts';
import { type Fault, Findings, lookTwice } from '../src/ledger/findings.ts';

const fault = (given: Partial<Fault>): Fault => ({
  ...{ state: 'wrong', fault: 'charged_twice', account_id: 'facct_1', test_mode: false, id: 'fcs_1', detail: '' },
  ...given,
});
const numbered = (count: number, given: Partial<Fault> = {}) =>
  Array.from({ length: count }, (_, n) => fault({ id: `fcs_${n}`, ...given }));
const notCompared = fault({ state: 'not_compared', fault: 'processor_not_compared', id: 'acct_1', detail: 'refused' });

/** What two looks at one place report. */
async function twice(first: readonly Fault[], second: readonly Fault[]): Promise<Fault[]> {
  const found = await lookTwice(
    async (findings) => findings.add(first, async () => second),
    async () => undefined,
  );
  return found.faults;
}

describe('findings', () => {
  it('have each difference of a record that has several [D14.155]', async () => {
    const both = [fault({ detail: '2 charges for health' }), fault({ detail: '2 charges for other' })];
    expect(await twice(both, both)).toEqual(both);
    expect(await twice(both, both.slice(1))).toEqual(both.slice(1));
    // Two cards of a refund that are alike are two differences, too.
    const alike = [fault({}), fault({})];
    expect(await twice(alike, alike)).toEqual(alike);
  });

  it('have the figures of the second look, and nothing that only one look found [D14.155]', async () => {
    const first = [fault({ detail: '100' }), fault({ id: 'fcs_first' })];
    const second = [fault({ detail: '200' }), fault({ id: 'fcs_second' })];
    expect(await twice(first, second)).toEqual([fault({ detail: '200' })]);
  });

  it('are told in the milder state where the two looks differ in it [D14.155]', async () => {
    const [wrong, unsettled] = [fault({}), fault({ state: 'unsettled' })];
    expect(await twice([wrong], [unsettled])).toEqual([unsettled]);
    expect(await twice([unsettled], [wrong])).toEqual([unsettled]);
    expect(await twice([wrong], [wrong])).toEqual([wrong]);
  });

  it('stay where the second look could not compare, which is told once of all places [D14.157]', async () => {
    const [one, other] = [fault({}), fault({ id: 'fcs_2', state: 'unsettled' })];
    const { faults } = await lookTwice(
      async (findings) => {
        findings.add([one], async () => [notCompared]);
        findings.add([other], async () => [notCompared]);
      },
      async () => undefined,
    );
    expect(faults).toEqual([one, notCompared, other]);
  });

  it('keep what the first look could not compare, whatever the second one finds there [D14.157]', async () => {
    const { faults } = await lookTwice(
      async (findings) => {
        findings.add([notCompared], async () => [fault({ id: 'acct_1' })]);
        findings.add([fault({})], async () => [fault({})]);
      },
      async () => undefined,
    );
    expect(faults).toEqual([fault({}), notCompared]);
  });

  it('are at most 1,000, the wrong ones before the unsettled ones, and say what they leave out [D14.155]', async () => {
    const findings = new Findings();
    const seen = () => [findings.faults.length, findings.areMore, findings.areMoreWrong];
    findings.add(numbered(1_000, { state: 'unsettled' }));
    expect(seen()).toEqual([1_000, false, false]);
    findings.add(numbered(1_000));
    expect(seen()).toEqual([1_000, true, false]);
    expect(findings.faults.every(({ state }) => state === 'wrong')).toBe(true);
    findings.add([fault({ id: 'fcs_last' })]);
    expect(seen()).toEqual([1_000, true, true]);
  });

  it('that were left out end the command with 3 where the others are gone at the second look [D14.155]', async () => {
    const outcomeAfter = async (first: readonly Fault[]) => {
      const findings = await lookTwice(
        async (findings) => findings.add(first, async () => []),
        async () => undefined,
      );
      return outcomeOf({ findings, compared: true, listed: undefined });
    };
    const { lines, ...ends } = await outcomeAfter(numbered(1_001));
    expect(ends).toMatchObject({ failed: false, incomplete: true, json: { wrong: [], more: true } });
    expect(lines[0]).toBe('There are more findings than the 0 above. Fix these first, then run the check again');
    expect(await outcomeAfter(numbered(1_001, { state: 'unsettled' }))).toMatchObject({ incomplete: false });
    expect(await outcomeAfter(numbered(1_000))).toMatchObject({ incomplete: false, json: { wrong: [] } });
  });
});
