// npm run -s e2e:attack: the attacks of docs/security-testing.md, against real servers on this machine.
import { projectsOf, readAttacks } from '../attack-files.ts';
import { runLong } from './run-long.ts';

const files = [...new Set(readAttacks().flatMap((attack) => attack.files))];
process.exitCode = await runLong(files, process.argv.slice(2), projectsOf(files));
