export { type TestCard, testCards } from './cards.ts';
export { type Fault, type FaultKind, faultKinds } from './faults.ts';
export { type Sandbox, type SandboxOptions, startSandbox } from './sandbox.ts';
