import type { CardFault } from './card-form.ts';

interface FieldStrings extends Record<CardFault, string> {
  readonly title: string;
  readonly number: string;
  readonly expiry: string;
  readonly cvc: string;
  readonly declined: string;
  readonly unreachable: string;
  readonly testCard: string;
}

export const fieldStrings: Readonly<Record<'en' | 'es', FieldStrings>> = {
  en: {
    title: 'Card details',
    number: 'Card number',
    expiry: 'Expires (MM/YY)',
    cvc: 'Security code',
    number_incomplete: 'Enter the whole card number.',
    number_wrong: 'This card number is not valid. Check the digits.',
    expiry_incomplete: 'Enter the month and the year, such as 04 / 29.',
    expiry_past: 'This card has expired. Use another card.',
    cvc_incomplete: 'Enter the 3 or 4 digits of the security code.',
    declined: 'This card cannot be used here. Test mode takes test cards only.',
    unreachable: 'The card could not be sent. Check your connection and try again.',
    testCard: 'Test card:',
  },
  es: {
    title: 'Datos de la tarjeta',
    number: 'Número de tarjeta',
    expiry: 'Vence (MM/AA)',
    cvc: 'Código (CVC)',
    number_incomplete: 'Escribe el número completo de la tarjeta.',
    number_wrong: 'Este número de tarjeta no es válido. Revisa los dígitos.',
    expiry_incomplete: 'Escribe el mes y el año, por ejemplo 04 / 29.',
    expiry_past: 'Esta tarjeta ha vencido. Usa otra tarjeta.',
    cvc_incomplete: 'Escribe los 3 o 4 dígitos del código de seguridad.',
    declined: 'Esta tarjeta no se puede usar aquí. El modo de prueba solo acepta tarjetas de prueba.',
    unreachable: 'No se pudo enviar la tarjeta. Revisa tu conexión e inténtalo de nuevo.',
    testCard: 'Tarjeta de prueba:',
  },
};

export const bankStrings = {
  en: {
    title: 'Your bank',
    question: 'Sandbox Bank: is this payment yours?',
    success: 'Yes, it is mine',
    failure: 'No, refuse it',
    unreachable: 'Your answer could not be sent. Check your connection and try again.',
  },
  es: {
    title: 'Tu banco',
    question: 'Sandbox Bank: ¿es tuyo este pago?',
    success: 'Sí, es mío',
    failure: 'No, rechazar',
    unreachable: 'No se pudo enviar tu respuesta. Revisa tu conexión e inténtalo de nuevo.',
  },
} as const;
