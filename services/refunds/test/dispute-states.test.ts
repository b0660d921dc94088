import { expect, it } from 'vitest';
import { disputeStates, disputeStatusOf, heldByDispute, isClosed, isEditable } from '../src/domain/dispute-states.ts';

it('gives every status of the processor a place, also those that it may add [D14.123]', () => {
  for (const status of disputeStates.states) expect(disputeStatusOf(status)).toEqual({ status, isKnown: true });
  const cases = [
    ['appeal_needs_response', 'under_review', true],
    ['appeal_under_review', 'under_review', true],
    ['appeal_won', 'won', true],
    ['appeal_lost', 'lost', true],
    ['something_new', 'under_review', false],
    ['', 'under_review', false],
  ] as const;
  for (const [word, status, isKnown] of cases) {
    expect({ word, ...disputeStatusOf(word) }).toEqual({ word, status, isKnown });
  }
});

it('holds the amount of an open or lost dispute, and nothing of an inquiry or one that was won [D14.124]', () => {
  const held = disputeStates.states.map((status) => [
    status,
    heldByDispute(status, 600, -600),
    heldByDispute(status, 600, 0),
  ]);
  expect(Object.fromEntries(held.map(([status, ...amounts]) => [status, amounts]))).toEqual({
    warning_needs_response: [0, 0],
    warning_under_review: [0, 0],
    warning_closed: [0, 0],
    needs_response: [600, 600],
    under_review: [600, 600],
    won: [0, 0],
    lost: [600, 600],
    prevented: [600, 0],
  });
});

it('takes evidence for two statuses, and closes with four [D14.125]', () => {
  expect(disputeStates.states.filter(isEditable)).toEqual(['warning_needs_response', 'needs_response']);
  expect(disputeStates.states.filter(isClosed)).toEqual(['warning_closed', 'won', 'lost', 'prevented']);
});

it('lets no dispute become an inquiry [D14.123]', () => {
  const open = disputeStates.states.filter((status) => !status.startsWith('warning_'));
  for (const from of open) {
    for (const to of disputeStates.states.filter((status) => status.startsWith('warning_'))) {
      expect({ from, to, can: disputeStates.canMove(from, to) }).toEqual({ from, to, can: false });
    }
  }
});
