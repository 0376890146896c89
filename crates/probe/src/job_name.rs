//! Names a thread-pool job of Node's own after its C++ class: `DeriveBitsJob<PBKDF2Traits>` is
//! `crypto.pbkdf2`, `ReadFileJob` is `fs.readFile`.
//!
//! Read from the mangled name of the class's virtual table, so that a class a newer Node adds has
//! a name without a change here.

/// Classes whose name is not that of the function that starts them.
const OTHER_NAMES: [(&str, &str); 2] = [("ReadDirRecursiveWork", "readdir"), ("CpDirJob", "cp")];
/// Classes whose first field is the path they work on, a `std::string`.
const WITH_PATH: [&str; 3] = ["ReadFileJob", "WriteFileJob", "CpDirJob"];

/// What is known of a class of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobClass {
    pub name: String,
    pub has_path: bool,
}

impl JobClass {
    /// The class whose virtual table has this symbol; `None` when it is no class of jobs.
    pub fn of_table(mangled: &str) -> Option<Self> {
        let parts = identifiers(mangled.strip_prefix("_ZTV")?);
        let plain = |name: &str| {
            Some(Self {
                name: name.to_owned(),
                has_path: false,
            })
        };
        if parts.contains(&"uvimpl") && parts.contains(&"Work") {
            return plain("napi.work");
        }
        if parts.first() != Some(&"node") {
            return None;
        }
        if parts.iter().any(|part| part.ends_with("Stream")) {
            let has = |kind: &str| parts.iter().any(|part| part.starts_with(kind));
            return match (has("Brotli"), has("Zstd"), has("Zlib")) {
                (true, _, _) => plain("zlib.brotli"),
                (_, true, _) => plain("zlib.zstd"),
                (_, _, true) => plain("zlib"),
                _ => None,
            };
        }
        let module = parts.get(1)?;
        let class = parts.last()?;
        let other = OTHER_NAMES.iter().find(|(known, _)| known == class);
        // The innermost of the traits says what is computed.
        let own = ["Traits", "Job", "Work"]
            .iter()
            .find_map(|suffix| class.strip_suffix(suffix))
            .filter(|name| !name.is_empty() && *module != *class)?;
        let own = other.map_or_else(|| lower_camel(own), |(_, name)| (*name).to_owned());
        Some(Self {
            name: match module.starts_with(|first: char| first.is_ascii_lowercase()) {
                true => format!("{module}.{own}"),
                false => own,
            },
            has_path: WITH_PATH.contains(class),
        })
    }
}

/// The names in a mangled name, each written there with its length before it.
fn identifiers(mangled: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = mangled;
    while let Some(first) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let skip = match first {
            // A substitution: S_, S0_ …, or St, Sa, Ss.
            'S' => match rest[1..].bytes().next() {
                Some(b't' | b'a' | b's' | b'b' | b'i' | b'o' | b'd') => 2,
                _ => rest.find('_').map_or(1, |at| at + 1),
            },
            // A literal.
            'L' => rest.find('E').map_or(1, |at| at + 1),
            _ if digits > 0 => {
                let length = rest[..digits].parse::<usize>().unwrap_or(0);
                let end = digits.saturating_add(length);
                if let Some(name) = rest.get(digits..end) {
                    found.push(name);
                    end
                } else {
                    digits
                }
            }
            _ => first.len_utf8(),
        };
        rest = &rest[skip.min(rest.len())..];
    }
    found
}

/// `ReadFile` → `readFile`, `PBKDF2` → `pbkdf2`, `AESCipher` → `aesCipher`.
fn lower_camel(name: &str) -> String {
    let bytes = name.as_bytes();
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let capitals = (0..bytes.len()).take_while(|&at| !is_lower(at)).count();
    let lowered = match capitals {
        all if all == bytes.len() => all,
        0 | 1 => capitals,
        // The last capital begins the next word.
        more => more - 1,
    };
    let (head, tail) = name.split_at(lowered);
    head.to_ascii_lowercase() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(mangled: &str) -> Option<String> {
        JobClass::of_table(mangled).map(|class| class.name)
    }

    #[test]
    fn names_jobs_after_what_they_compute() {
        for (mangled, expected) in [
            (
                "_ZTVN4node6crypto13DeriveBitsJobINS0_12PBKDF2TraitsEEE",
                "crypto.pbkdf2",
            ),
            (
                "_ZTVN4node6crypto13DeriveBitsJobINS0_12ScryptTraitsEEE",
                "crypto.scrypt",
            ),
            (
                "_ZTVN4node6crypto13DeriveBitsJobINS0_17RandomBytesTraitsEEE",
                "crypto.randomBytes",
            ),
            (
                "_ZTVN4node6crypto9CipherJobINS0_15AESCipherTraitsEEE",
                "crypto.aesCipher",
            ),
            (
                "_ZTVN4node6crypto9KeyGenJobINS0_16KeyPairGenTraitsINS0_15RsaKeyGenTraitsEEEEE",
                "crypto.rsaKeyGen",
            ),
            (
                "_ZTVN4node6crypto17KEMEncapsulateJobE",
                "crypto.kemEncapsulate",
            ),
            ("_ZTVN4node12_GLOBAL__N_110ZlibStreamE", "zlib"),
            (
                "_ZTVN4node12_GLOBAL__N_117CompressionStreamINS0_11ZlibContextEEE",
                "zlib",
            ),
            (
                "_ZTVN4node12_GLOBAL__N_123BrotliCompressionStreamINS0_20BrotliEncoderContextEEE",
                "zlib.brotli",
            ),
            (
                "_ZTVN4node12_GLOBAL__N_110ZstdStreamINS0_19ZstdCompressContextEEE",
                "zlib.zstd",
            ),
            ("_ZTVN12_GLOBAL__N_16uvimpl4WorkE", "napi.work"),
            ("_ZTVN4node2fs11ReadFileJobE", "fs.readFile"),
            (
                "_ZTVN4node2fs12_GLOBAL__N_120ReadDirRecursiveWorkE",
                "fs.readdir",
            ),
            ("_ZTVN4node2fs8CpDirJobE", "fs.cp"),
            ("_ZTVN4node6sqlite9BackupJobE", "sqlite.backup"),
        ] {
            assert_eq!(name(mangled).as_deref(), Some(expected), "{mangled}");
        }
    }

    #[test]
    fn other_classes_are_no_jobs() {
        for mangled in [
            "_ZTVN4node10StreamBaseE",
            "_ZTVN4node14ThreadPoolWorkE",
            "_ZTVN4node10permission16WorkerPermissionE",
            "_ZTVN2v88internal17PageEvacuationJobE",
            "_ZTVN4node6crypto",
            "_ZTV",
        ] {
            assert_eq!(name(mangled), None, "{mangled}");
        }
    }

    #[test]
    fn knows_where_a_path_is() {
        let class = JobClass::of_table("_ZTVN4node2fs11ReadFileJobE").expect("a job");
        assert!(class.has_path);
        let class = JobClass::of_table("_ZTVN4node6sqlite9BackupJobE").expect("a job");
        assert!(!class.has_path);
    }
}
