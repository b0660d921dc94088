alter table refunds.evidence_files validate constraint evidence_has_pages;
