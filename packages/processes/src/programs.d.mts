export type ProgramName =
  | 'billing'
  | 'catalog'
  | 'checkout'
  | 'refunds'
  | 'webhooks'
  | 'gateway'
  | 'sandbox'
  | 'stack'
  | 'prepare'
  | 'cli';
export declare const programs: Readonly<Record<ProgramName, string>>;
export declare const builtFolder: string;
export function programFile(root: string, name: ProgramName): string;
