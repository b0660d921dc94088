/** The roles of one installation. Each is `eligo_<part>`, or `eligo_<installation>_<part>` for an installation that has a name. */
export interface RoleNames {
  /** Owns what migrations make. */
  readonly owner: string;
  /** Owns the functions that find due rows across accounts; cannot log in. */
  readonly finder: string;
  /** What a service connects as. */
  ofService(service: string): string;
}

/** The names of an installation's roles; '' is the installation without a name. */
export function roleNames(installation: string): RoleNames {
  if (installation !== '' && !isInstallationName(installation)) {
    throw new Error(`ELIGO_INSTALLATION must be 1 to 20 lower-case letters and digits, not "${installation}"`);
  }
  const prefix = installation === '' ? 'eligo_' : `eligo_${installation}_`;
  return {
    owner: `${prefix}owner`,
    finder: `${prefix}finder`,
    ofService(service) {
      if (!/^[a-z][a-z0-9_]*$/.test(service)) throw new Error(`not the name of a service: ${service}`);
      return `${prefix}${service}`;
    },
  };
}

/** The role that a service connects as. */
export function serviceRole(service: string, installation = ''): string {
  return roleNames(installation).ofService(service);
}

// Short, since Postgres cuts names off after 63 bytes; no underscore, so that no two installations have a role in common.
function isInstallationName(name: string): boolean {
  return /^[a-z0-9]{1,20}$/.test(name);
}
