import { allocate, cents } from '@eligo/values';
import type { HealthcareAmounts } from './port.ts';

/**
 * What goes to the processor about the health-care part of a tender. The card networks take a total and, within it, amounts by
 * kind; Eligo's buckets are disjoint, so the total is their sum. Stripe's API has no field for it in this version, so it travels
 * as metadata, under these names: `healthcare_total`, and `healthcare_prescription`, `healthcare_vision`, `healthcare_clinic`
 * (the service bucket) where they are not zero; what is in none of the three is over-the-counter (`healthcare_iias`).
 *
 * A total above the tender would be refused by an issuer, so it is cut to it, and its parts in proportion.
 */
export function healthcareMetadata(
  amounts: HealthcareAmounts | undefined,
  tenderCents: number,
): Record<string, string> {
  if (amounts === undefined) return {};
  const given = [amounts.iiasCents, amounts.prescriptionCents, amounts.visionCents, amounts.serviceCents];
  const sum = given.reduce((total, part) => total + part, 0);
  const total = Math.min(sum, tenderCents);
  if (total <= 0) return {};
  const parts = sum <= tenderCents ? given : allocate(cents(total), given);
  const names = ['healthcare_iias', 'healthcare_prescription', 'healthcare_vision', 'healthcare_clinic'];
  const entries = names.map((name, index) => [name, parts[index] ?? 0] as const).filter(([, part]) => part > 0);
  return Object.fromEntries(
    [['healthcare_total', total] as const, ...entries].map(([name, part]) => [name, String(part)]),
  );
}
