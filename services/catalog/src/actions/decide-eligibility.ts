import type { Db } from '@eligo/postgres';
import { type Asker, hasFoodEligibility } from '../context.ts';
import {
  decideEligibility,
  type EligibilityDecision,
  type EligibilitySources,
  type EligibilitySubject,
  isSettled,
} from '../domain/eligibility.ts';
import { findComponents } from '../store/components.ts';
import { findFoodPolicy, findProductCodes } from '../store/eligibility-sources.ts';

/** The class of each subject as of `at`. A cart whose records all have a class of their own costs no query. */
export async function decideAll(
  db: Db,
  asker: Asker,
  subjects: readonly EligibilitySubject[],
  at: Date,
): Promise<EligibilityDecision[]> {
  const open = subjects.filter((subject) => !isSettled(subject));
  const sources = open.length === 0 ? noSources : await loadSources(db, asker, open, at);
  return subjects.map((subject) => decideEligibility(subject, sources));
}

const noSources: EligibilitySources = { entries: new Map(), foodPolicy: undefined, components: new Map() };

async function loadSources(
  db: Db,
  asker: Asker,
  open: readonly EligibilitySubject[],
  at: Date,
): Promise<EligibilitySources> {
  const codes = [...new Set(open.flatMap((subject) => subject.codes))];
  const componentIds = hasFoodEligibility(asker) ? [...new Set(open.flatMap((subject) => subject.componentIds))] : [];
  const [entries, foodPolicy, components] = await Promise.all([
    codes.length === 0 ? noSources.entries : findProductCodes(db, asker.scope, codes, at),
    componentIds.length === 0 ? undefined : findFoodPolicy(db, asker.scope, at),
    componentIds.length === 0 ? [] : findComponents(db, asker.scope, componentIds),
  ]);
  return {
    entries,
    foodPolicy,
    components: new Map(components.map((component) => [component.componentId, component])),
  };
}
