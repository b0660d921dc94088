import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  armFailpoint,
  declareFailpoints,
  failpoint,
  failpointReached,
  listFailpoints,
  releaseFailpoint,
  turnFailpointsOff,
  turnFailpointsOn,
} from '../src/index.ts';

const [first, second] = declareFailpoints(['test.first', 'test.second']);

beforeEach(() => turnFailpointsOn());
afterEach(() => turnFailpointsOff());

test('while failpoints are off nothing happens, not even for an undeclared name', () => {
  turnFailpointsOff();
  expect(failpoint('no.such')).toBeUndefined();
  expect(() => armFailpoint(first, { action: 'error' })).toThrow('Failpoints are off');
});

test('an armed failpoint fires once, after the passes to skip', async () => {
  armFailpoint(first, { action: 'error', skip: 2 });
  await failpoint(first);
  await failpoint(second);
  await failpoint(first);
  await expect(failpoint(first)).rejects.toThrow('failpoint test.first');
  await failpoint(first);
});

test('held work continues when it is released, and other work passes meanwhile', async () => {
  armFailpoint(first, { action: 'pause' });
  const passed: string[] = [];
  const held = failpoint(first)?.then(() => passed.push('held'));
  await failpointReached(first);
  await failpoint(first);
  passed.push('other');
  releaseFailpoint(first);
  await held;
  expect(passed).toEqual(['other', 'held']);
});

test('who waits for a step to be held learns of it', async () => {
  const reached = failpointReached(second);
  armFailpoint(second, { action: 'pause' });
  const held = failpoint(second);
  await reached;
  expect(listFailpoints().find(({ name }) => name === second)).toMatchObject({ waiting: 1 });
  turnFailpointsOff();
  await held;
});

test('an undeclared name is an error once failpoints are on', async () => {
  await expect(failpoint('no.such')).rejects.toThrow('No failpoint is named no.such');
  expect(() => armFailpoint('no.such', { action: 'kill' })).toThrow('No failpoint is named no.such');
});

test('all declared failpoints can be listed', () => {
  expect(listFailpoints().map(({ name }) => name)).toEqual(expect.arrayContaining([first, second]));
});
