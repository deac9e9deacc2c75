// Package pki makes the keys and certificates of one test cluster, in memory
// and in milliseconds: elliptic curves, no program called.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is longer than anyone keeps a test cluster.
const validity = 365 * 24 * time.Hour

// Pair is a certificate and its private key, as PEM.
type Pair struct {
	Certificate, Key []byte
}

// Authority signs certificates.
type Authority struct {
	// PEM is the authority's own certificate and key.
	PEM Pair

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority that nothing else trusts yet.
func NewAuthority(name string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, err
	}
	pair, err := encode(certificate, key)
	if err != nil {
		return nil, err
	}
	return &Authority{PEM: pair, certificate: certificate, key: key}, nil
}

// Client makes the certificate by which a Kubernetes API server knows a user
// and its groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	if user == "" {
		return Pair{}, errors.New("a user needs a name")
	}
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// Server makes the certificate of a server that is reached by these host names
// and IP addresses, of which there is at least one.
func (a *Authority) Server(hosts ...string) (Pair, error) {
	if len(hosts) == 0 {
		return Pair{}, errors.New("a server's certificate needs a host")
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template)
}

func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, err
	}
	template.SerialNumber = serial
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.NotBefore = a.certificate.NotBefore
	template.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, err
	}
	return encode(certificate, key)
}

// NewKey makes a private key, as PEM.
func NewKey() ([]byte, error) { return keyutil.MakeEllipticPrivateKeyPEM() }

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func encode(certificate *x509.Certificate, key *ecdsa.PrivateKey) (Pair, error) {
	certificatePEM, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return Pair{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	return Pair{Certificate: certificatePEM, Key: keyPEM}, err
}
