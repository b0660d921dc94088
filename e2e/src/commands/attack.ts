// npm run -s e2e:attack: the attacks of docs/security-testing.md, against real servers on this machine.
import { downloadingFiles, filesOf, projectsOf, readAttacks } from '../attack-files.ts';
import { runLong } from './run-long.ts';

const flag = '--downloads';
const args = process.argv.slice(2);
const downloads = args.includes(flag);
const files = filesOf(readAttacks(), { downloads });
process.exitCode = await runLong(
  files,
  args.filter((one) => one !== flag),
  projectsOf(files),
);
if (!downloads)
  process.stdout.write(`Not run, because they download packages: ${downloadingFiles.join(', ')} (${flag})\n`);
