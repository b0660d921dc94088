import type { ChargingFixture } from './charging-fixture.ts';
import { exerciseCaptures } from './growth-captures.ts';
import { exerciseDatedLists } from './growth-dated.ts';
import { exerciseJobs } from './growth-jobs.ts';
import { exerciseLists } from './growth-lists.ts';
import { exercisePayments, exerciseTroubledPayments } from './growth-payments.ts';
import { exerciseRareWork } from './growth-rare.ts';
import { exerciseRecords } from './growth-records.ts';

/** Runs every statement of checkout, for new records and for seeded ones, of which the first customer has a fifth. */
export async function exerciseCheckout(fixture: ChargingFixture): Promise<void> {
  await exerciseRecords(fixture);
  await exerciseLists(fixture);
  await exerciseDatedLists(fixture);
  await exercisePayments(fixture);
  await exerciseTroubledPayments(fixture);
  await exerciseCaptures(fixture);
  await exerciseRareWork(fixture);
  await exerciseJobs(fixture);
}
