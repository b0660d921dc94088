/** The classes of HSA/FSA eligibility (decisions 4); null is "not classified", which counts as not eligible. */
export const eligibilityClasses = [
  'not_eligible',
  'auto_substantiation',
  'private_label',
  'letter_of_medical_necessity',
  'prescription',
  'vision',
  'service',
] as const;

export type EligibilityClass = (typeof eligibilityClasses)[number];

/** Whether `text` names a class. */
export function isEligibilityClass(text: string): text is EligibilityClass {
  return (eligibilityClasses as readonly string[]).includes(text);
}

/** Whether an item of this class may be paid with a health card (with a letter, where the class asks for one). */
export function isEligible(eligibility: EligibilityClass | null): boolean {
  return eligibility !== null && eligibility !== 'not_eligible';
}
