import { execFile } from 'node:child_process';
import { root } from '../turbo.ts';

/** What the registry said of the packages that run: each finding is a line for whoever releases; none when they are fine. */
export async function auditFindings(environment: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const args = ['audit', '--omit=dev', '--audit-level=moderate', '--json'];
  const { stdout, isOk } = await new Promise<{ stdout: string; isOk: boolean }>((resolve) => {
    execFile('npm', args, { cwd: root, env: environment, maxBuffer: 64 * 1_048_576 }, (error, stdout) =>
      resolve({ stdout, isOk: error === null }),
    );
  });
  const answer = parsed(stdout);
  if (answer?.vulnerabilities === undefined) {
    const reason = answer?.message ?? answer?.error?.summary ?? 'npm audit gave no answer';
    return [
      `The packages were not audited: ${reason}. Run this command with a registry that has an audit endpoint (npm_config_registry)`,
    ];
  }
  const vulnerable = Object.entries(answer.vulnerabilities).map(
    ([name, { severity }]) => `${name} has a known vulnerability (${severity}); npm audit tells more`,
  );
  return isOk ? [] : vulnerable.length > 0 ? vulnerable : ['npm audit failed without a reason'];
}

interface AuditAnswer {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  readonly message?: string;
  readonly error?: { readonly summary?: string };
}

function parsed(text: string): AuditAnswer | undefined {
  try {
    return JSON.parse(text) as AuditAnswer;
  } catch {
    return undefined;
  }
}
