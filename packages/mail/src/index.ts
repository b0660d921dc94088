export { deleteKeptMail, keptMails } from './kept-mails.ts';
export { type MailSettings, readMailSettings } from './mail-settings.ts';
export { type Mail, type Mailer, type MailOutcome, openMailer } from './mailer.ts';
