// What names roles, without the client of the database's statements: a supervisor loads no more.
export { type InstallationClaim, installationOf } from './installation.ts';
export { roleNames, serviceRole } from './role-names.ts';
export { roleUrl } from './role-url.ts';
