import { allocate, cents } from '@eligo/values';
import type { HealthcareAmounts } from './port.ts';

/**
 * What goes to Stripe about the health-care part of a tender. The card networks take a total and, within it, amounts by kind. Stripe's API has no
 * field for it in this version, so it travels as metadata: `healthcare_total` is all that is medical, and `healthcare_iias` (over-the-counter),
 * `healthcare_prescription`, `healthcare_vision` and `healthcare_clinic` (the service bucket) are parts of it, where they are not zero. What needs a
 * letter is in the total and in none of the parts.
 *
 * A total above the tender would be refused by an issuer, so it is cut to the tender, and parts that are then more than the total in proportion.
 */
export function healthcareMetadata(
  amounts: HealthcareAmounts | undefined,
  tenderCents: number,
): Record<string, string> {
  if (amounts === undefined) return {};
  const given = [amounts.iiasCents, amounts.prescriptionCents, amounts.visionCents, amounts.serviceCents];
  const sum = given.reduce((total, part) => total + part, 0);
  const total = Math.min(Math.max(amounts.medicalCents, sum), tenderCents);
  if (total <= 0) return {};
  const parts = sum <= total ? given : allocate(cents(total), given);
  const names = ['healthcare_iias', 'healthcare_prescription', 'healthcare_vision', 'healthcare_clinic'];
  const entries = names.map((name, index) => [name, parts[index] ?? 0] as const).filter(([, part]) => part > 0);
  return Object.fromEntries(
    [['healthcare_total', total] as const, ...entries].map(([name, part]) => [name, String(part)]),
  );
}
