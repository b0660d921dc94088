import { cents } from './cents.ts';

/** The processor charges nothing below this (interface, Limits). */
export const minimumChargeCents = cents(50);

/** The processor charges nothing above this at once: an amount has eight digits at most. */
export const maximumChargeCents = cents(99_999_999);
