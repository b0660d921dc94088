/** A class of eligibility in the words of a plan administrator. */
export function eligibilityInWords(eligibility: string | null): string {
  return (eligibility === null ? undefined : words[eligibility]) ?? 'Not eligible';
}

const words: Readonly<Record<string, string>> = {
  auto_substantiation: 'Eligible: medical item on the IIAS list',
  private_label: 'Eligible: medical item on the IIAS list (private label)',
  letter_of_medical_necessity: 'Eligible with a letter of medical necessity',
  prescription: 'Eligible: prescription',
  vision: 'Eligible: vision care',
  service: 'Eligible: medical service',
};
