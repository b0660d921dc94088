export type { CallObservation } from './call.ts';
export { cardFacts } from './facts.ts';
export type { FileContent } from './file-form.ts';
export { fillProcessorAccounts } from './fill-accounts.ts';
export { healthcareMetadata } from './healthcare.ts';
export {
  openProcessors,
  type ProcessorEnvironment,
  type ProcessorOptions,
  type Processors,
} from './open-processors.ts';
export { openServiceProcessors, readProcessorEnvironment } from './open-service-processors.ts';
export type * from './outcomes.ts';
export type * from './port.ts';
export { type ProcessorScope, sandboxAccountOf } from './processor-account.ts';
export { Recovery } from './recovery.ts';
export { isTestCardName } from './test-bank.ts';
